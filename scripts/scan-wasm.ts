// Compiles the part of the scan in wasm/ to src/discovery/scan.wasm (`npm run wasm`). The compiler is fetched when it is needed:
// it is large, and the sources change rarely.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const compiler = 'assemblyscript@0.28.20'
const section = 'sources'

if (import.meta.main) writeFileSync('src/discovery/scan.wasm', compile())

export function compile(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-wasm-'))
  try {
    const file = join(folder, 'scan.wasm')
    const options = ['--config', 'wasm/asconfig.json', '--outFile', file]
    execFileSync(
      'npm',
      ['exec', '--yes', `--package=${compiler}`, '--', 'asc', 'wasm/index.ts', ...options],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    return Buffer.concat([readFileSync(file), customSection(section, digestOfSources())])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Names the sources that the compiled code was made from. */
export function digestOfSources(): Buffer {
  const hash = createHash('sha256')
  for (const file of globSync('wasm/*').sort()) hash.update(file).update(readFileSync(file))
  return hash.digest()
}

/** The end of a compiled module: a section that programs ignore. All lengths are below 128, so that each takes one byte. */
function customSection(name: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from([name.length]), Buffer.from(name), content])
  return Buffer.concat([Buffer.from([0, body.length]), body])
}

export function isOfSources(wasm: Buffer): boolean {
  return wasm.subarray(-digestOfSources().length).equals(digestOfSources())
}
