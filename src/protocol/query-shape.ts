import { SqsError } from '../sqs/errors.ts';
import { queryNames, type Static, type TSchema, Type, yieldsTo } from '../sqs/shapes/schema.ts';
import { integerFromText } from './json-shape.ts';

/** Form parameters by the periods in their names: `Entry.1.Id=a` is a leaf three levels down. */
interface ParameterTree {
  value?: string;
  children: Map<string, ParameterTree>;
}

/** Deeper than any name of the service model; deeper names cannot mean anything. */
const deepestName = 8;

export function parameterTree(parameters: Iterable<[string, string]>): ParameterTree {
  const root: ParameterTree = { children: new Map() };
  for (const [name, value] of parameters) {
    const path = name.split('.', deepestName + 1);
    if (path.length > deepestName) {
      continue;
    }
    let node = root;
    for (const segment of path) {
      let child = node.children.get(segment);
      if (child === undefined) {
        child = { children: new Map() };
        node.children.set(segment, child);
      }
      node = child;
    }
    node.value = value;
  }
  return root;
}

/**
 * The items of a flattened list or map in index order. Without an index there is one item; an empty value is
 * how clients write an empty list.
 */
function items(node: ParameterTree): ParameterTree[] {
  const indexed = [...node.children].filter(([segment]) => /^\d{1,6}$/.test(segment));
  if (indexed.length === 0) {
    return node.children.size === 0 && !node.value ? [] : [node];
  }
  return indexed.sort(([a], [b]) => Number(a) - Number(b)).map(([, child]) => child);
}

function readMap(schema: TSchema, valueSchema: TSchema, node: ParameterTree): unknown {
  const names = queryNames(schema);
  const entries: [string, unknown][] = [];
  for (const item of items(node)) {
    // An entry without a name is not passed over, so that nothing is lost without an error.
    const key = item.children.get(names.key)?.value ?? '';
    const value = item.children.get(names.value);
    entries.push([key, read(valueSchema, value ?? { children: new Map() })]);
  }
  return Object.fromEntries(entries);
}

function read(schema: TSchema, node: ParameterTree): unknown {
  if (Type.IsArray(schema)) {
    return items(node).map((item) => read(schema.items, item));
  }
  if (Type.IsRecord(schema)) {
    return readMap(schema, Type.RecordValue(schema), node);
  }
  if (Type.IsObject(schema)) {
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(schema.properties)) {
      const isCollection = Type.IsArray(member) || Type.IsRecord(member);
      const child = node.children.get(isCollection ? queryNames(member).element : name);
      if (child !== undefined) {
        members.push([name, read(member, child)]);
      }
    }
    const given = new Set(members.map(([name]) => name));
    return Object.fromEntries(
      members.filter(([name]) => !given.has(yieldsTo(schema.properties[name]) ?? '')),
    );
  }
  const value = node.value ?? '';
  if (Type.IsInteger(schema)) {
    return integerFromText(value);
  }
  if (Type.IsBoolean(schema)) {
    throw new SqsError('MalformedInput', 'Unexpected boolean parameter.');
  }
  return value;
}

/**
 * Reads form parameters as a shape.
 *
 * @throws {SqsError} MalformedInput where a number is none
 */
export function readQueryShape<Shape extends TSchema>(
  schema: Shape,
  tree: ParameterTree,
): Static<Shape> {
  // read() builds what the schema says member by member; the compiler cannot follow that.
  return read(schema, tree) as Static<Shape>;
}
