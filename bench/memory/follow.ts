// How soon what was said can be found while the gateway follows, beside all that was said before.
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openApp } from '../../src/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'

/** Milliseconds from the write to the answer that has it, the shortest first. */
export async function measureFollowing(variables: NodeJS.ProcessEnv, times: number): Promise<number[]> {
  const app = await openApp(readEnvironment(variables), { version: '0' })
  const stopWatching = await app.discovery().watch((sessionId, why) => {
    app.events.emit({ type: 'native-changed', sessionId, why })
  })
  const stop = await app.search().follow()
  await app.search().refresh()
  try {
    const sessionId = 'ffffffff-0000-4000-8000-000000000001'
    const file = join(variables['HOME']!, '.claude/projects/-bench', `${sessionId}.jsonl`)
    mkdirSync(dirname(file), { recursive: true })
    const taken: number[] = []
    for (let i = 0; i <= times; i++) {
      const word = `kittiwake${i}`
      const began = performance.now()
      const message = { role: 'user', content: `the ${word} has landed` }
      appendFileSync(file, `${JSON.stringify({ type: 'user', sessionId, cwd: '/bench', message })}\n`)
      while ((await app.search().search({ text: word })).total === 0) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        if (performance.now() - began > 20_000) throw new Error(`${word} is not found`)
      }
      // The first one makes the folder, which has to be noticed first.
      if (i > 0) taken.push(performance.now() - began)
    }
    return taken.sort((a, b) => a - b)
  } finally {
    await stop()
    await stopWatching()
    await app.close()
  }
}
