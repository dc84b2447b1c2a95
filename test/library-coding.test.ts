// The classes of seed 004 from outside: the example of docs/library.md, run as a program of its own against the built
// library, with the real Claude binary and the scripted API.
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { makeClaudeHome, testModel } from './support/claude-home.ts'
import { startMessagesApi } from './support/messages-api.ts'

const root = join(import.meta.dirname, '..')

test('the example of docs/library.md runs: spawn, output, a message, catching up, an event, kill', async () => {
  const api = await startMessagesApi()
  const home = makeClaudeHome({ apiUrl: api.url, name: 'library' })
  try {
    api.script('List what README.md lacks', [
      { tools: [{ name: 'Read', input: { file_path: join(home.project, 'README.md') } }] },
      { text: 'It lacks an example.' },
    ])
    api.script('Which one first', [{ text: 'The example.' }])
    writeFileSync(join(home.project, 'README.md'), '# Demo\n')
    writeFileSync(
      join(home.stateDir, 'rockpool.json'),
      JSON.stringify({ claude: { maxRetries: 0, spare: false }, coding: { defaultModel: testModel } }),
    )
    const page = readFileSync(join(root, 'docs/library.md'), 'utf8')
    const example = /```ts\n([\s\S]*?)```/.exec(page)![1]!
    const program = join(home.root, 'example.ts')
    writeFileSync(program, example.replace("'rockpool'", JSON.stringify(join(root, 'dist/index.js'))))
    const { stdout } = await promisify(execFile)(process.execPath, [program], {
      cwd: home.project,
      env: { ...home.variables },
    })
    expect(stdout).toMatch(
      /^tool: Read.*\ndocs running: It lacks an example\.\nsince then: The example\.\nresume with: [0-9a-f-]{36}\nkilled: true, killed\n$/,
    )
  } finally {
    await api.close()
    home.remove()
  }
})

test('a session that cannot be launched is failed and says why; a manager keeps to its limit', async () => {
  const home = makeClaudeHome({ apiUrl: 'http://127.0.0.1:1', name: 'library' })
  const program = join(home.root, 'failing.mjs')
  writeFileSync(
    program,
    `import { Session, SessionManager } from ${JSON.stringify(join(root, 'dist/index.js'))}
    const session = new Session({ prompt: 'x', workdir: '/no/such/place' }, 'lost')
    session.onComplete = ({ name, status }) => console.log(name, status)
    session.start()
    await session.started()
    console.log(session.error.includes('/no/such/place'), await session.kill())
    await session.close()
    const manager = new SessionManager({ maxSessions: 0 })
    try { manager.spawn({ prompt: 'x', workdir: '/' }) } catch (error) { console.log(error.code) }`,
  )
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env: { ...home.variables } })
    expect(stdout).toBe('lost failed\ntrue false\nbusy\n')
  } finally {
    home.remove()
  }
})
