import { XMLBuilder } from 'fast-xml-parser';
import { queryNames, type TSchema, Type } from '../sqs/shapes/schema.ts';
import { withoutForbiddenCharacters } from '../sqs/text.ts';

const namespace = 'http://queue.amazonaws.com/doc/2012-11-05/';

/** A parser reads a bare CR as LF, so AWS writes it as a reference. */
const references: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
};

const builder = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  suppressEmptyNode: true,
  processEntities: false,
  tagValueProcessor: (_name, value) =>
    withoutForbiddenCharacters(String(value)).replace(
      /[&<>"\r]/g,
      (character) => references[character] ?? character,
    ),
});

type XmlNode = string | { [element: string]: XmlNode | XmlNode[] };

function member(schema: TSchema, value: unknown): [string, XmlNode[]] | undefined {
  if (Type.IsArray(schema) && Array.isArray(value)) {
    return [queryNames(schema).element, value.map((item) => toXmlNode(schema.items, item))];
  }
  if (Type.IsRecord(schema) && typeof value === 'object' && value !== null) {
    const names = queryNames(schema);
    const valueSchema = Type.RecordValue(schema);
    const entries = Object.entries(value).map(([key, item]) => ({
      [names.key]: key,
      [names.value]: toXmlNode(valueSchema, item),
    }));
    return [names.element, entries];
  }
  return undefined;
}

/** The elements of a value in the order of its shape's members, as AWS writes them. */
export function toXmlNode(schema: TSchema, value: unknown): XmlNode {
  if (!Type.IsObject(schema) || typeof value !== 'object' || value === null) {
    return String(value);
  }
  const node: { [element: string]: XmlNode | XmlNode[] } = {};
  for (const [name, memberSchema] of Object.entries(schema.properties)) {
    const given: unknown = Reflect.get(value, name);
    if (given === undefined) {
      continue;
    }
    const [element, nodes] = member(memberSchema, given) ?? [name, toXmlNode(memberSchema, given)];
    node[element] = nodes;
  }
  return node;
}

/** A document of the Query protocol with this root element. */
export function xmlDocument(root: string, content: { [element: string]: XmlNode }): string {
  return `<?xml version="1.0"?>${builder.build({ [root]: { '@xmlns': namespace, ...content } })}`;
}
