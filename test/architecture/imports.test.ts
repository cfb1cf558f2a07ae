import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../src');

/** Which rooms each room may import from, beside itself. `.` is src itself, where main.ts composes. */
const mayImport: Record<string, readonly string[]> = {
  sqs: [],
  protocol: ['sqs'],
  db: ['sqs', '.'],
  embedded: [],
  operations: ['sqs', 'protocol', 'db'],
  maintenance: ['sqs', 'db'],
  http: ['sqs', 'protocol', 'operations'],
  client: ['sqs', 'db'],
  plugin: ['sqs', 'http', 'client', '.'],
  '.': ['sqs', 'protocol', 'db', 'embedded', 'operations', 'maintenance', 'http'],
};

/** What may be written in one place only, and where. */
const confined: { text: RegExp; allowedIn: readonly string[]; reason: string }[] = [
  {
    text: /process\.env\b/,
    allowedIn: ['main.ts', 'embedded/'],
    reason: 'settings are read once, by config.ts',
  },
  {
    text: /Date\.now\(|new Date\(\)/,
    allowedIn: ['embedded/'],
    reason: "the database's clock decides",
  },
  { text: /console\./, allowedIn: [], reason: 'the server has a log' },
];

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

function roomOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '.') : '.';
}

describe('architecture', () => {
  it('has source files to check', () => {
    expect(files.length).toBeGreaterThan(30);
  });

  it.each(files)('$file imports only what its room may', ({ file, text }) => {
    const room = roomOf(file);
    const imported = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path]) =>
      roomOf(relative(root, resolve(root, dirname(file), path ?? ''))),
    );
    expect(Object.keys(mayImport)).toContain(room);
    const foreign = imported.filter((from) => from !== room && !mayImport[room]?.includes(from));
    expect(foreign).toEqual([]);
  });

  it.each(files)('$file keeps to its room', ({ file, text }) => {
    const breaches = confined
      .filter(({ text: form, allowedIn }) => {
        return form.test(text) && !allowedIn.some((place) => file.startsWith(place));
      })
      .map(({ reason }) => reason);
    expect(breaches).toEqual([]);
  });
});
