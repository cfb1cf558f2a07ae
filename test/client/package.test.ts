import { describe, expect, it } from 'vitest';
import { startProgram, useCompiledPackage } from './programs.ts';

const compiled = useCompiledPackage();

/** Prints the URL of every module that is loaded, by a hook that Node calls for each. */
const loaderHook = `
import { writeSync } from 'node:fs';
export async function load(url, context, next) {
  writeSync(1, url + '\\n');
  return await next(url, context);
}`;
const registration = `
import { register } from 'node:module';
register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(loaderHook)}`)});`;

async function run(program: string): Promise<{ exitCode: number | null; output: string }> {
  const { ended, output } = startProgram(
    'node',
    [
      `--import=data:text/javascript,${encodeURIComponent(registration)}`,
      '--input-type=module',
      `--eval=${program}`,
    ],
    { cwd: compiled.directory },
  );
  return { exitCode: await ended, output: output() };
}

function packagesIn(output: string): string[] {
  const names = [...output.matchAll(/\/node_modules\/((?:@[^/\s]+\/)?[^/.\s][^/\s]*)/g)].map(
    ([, name]) => name ?? '',
  );
  return [...new Set(names)];
}

describe('The package', () => {
  it('exports the library, which loads no other package', async () => {
    const { exitCode, output } = await run(
      `import { Consumer, Trunkline } from 'trunkline'; console.log(typeof Trunkline, typeof Consumer);`,
    );
    expect(output).toContain('function function');
    expect(exitCode).toBe(0);
    expect(output).toContain('dist/client/trunkline.js');
    expect(packagesIn(output)).toEqual([]);
  });

  it('exports the migration, which loads no server', async () => {
    const { exitCode, output } = await run(
      `import { migrate } from 'trunkline/migrate'; console.log(typeof migrate);`,
    );
    expect(output).toContain('function');
    expect(exitCode).toBe(0);
    const packages = packagesIn(output);
    expect(packages).toContain('node-pg-migrate');
    expect(packages).not.toContain('fastify');
    expect(packages).not.toContain('fast-xml-parser');
  });

  it('exports the Fastify plugin, and nothing of its inside', async () => {
    const { exitCode, output } = await run(
      `import plugin from 'trunkline/fastify'; console.log(typeof plugin);
      await import('trunkline/dist/server.js').catch((error) => console.log(error.code));`,
    );
    expect(output).toContain('function');
    expect(output).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
    expect(exitCode).toBe(0);
  });
});
