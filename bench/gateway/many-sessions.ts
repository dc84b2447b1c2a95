// A state directory with many sessions, each with what a real one carries after a turn (about 7 KB).
import { openApp } from '../../src/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'

/** `promptChars`: the size of the largest field of each. */
export async function fillStateDir(dir: string, count: number, promptChars = 4_500): Promise<void> {
  const app = await openApp(readEnvironment({ HOME: dir, ROCKPOOL_STATE_DIR: dir }), { version: 'bench' })
  const store = app.storage.sessions('main')
  const prompt = 'A skill that helps with something, and says in a few words when to use it. '
    .repeat(60)
    .slice(0, promptChars)
  for (let start = 0; start < count; start += 500) {
    const some = Array.from({ length: Math.min(500, count - start) }, (_, i) => start + i)
    await Promise.all(some.map((n) => store.update(keyOf(n), () => entryOf(n, prompt))))
  }
  await app.close()
}

export function keyOf(n: number): string {
  return n === 0 ? 'agent:main:main' : `agent:main:telegram:direct:${100_000 + n}`
}

function entryOf(
  n: number,
  prompt: string,
): { sessionId: string; updatedAt: number; [field: string]: unknown } {
  const id = n.toString(16).padStart(8, '0')
  return {
    sessionId: `${id}-1111-4222-8333-444444444444`,
    updatedAt: 1_790_000_000_000 + n * 1000,
    sessionStartedAt: 1_789_000_000_000,
    chatType: 'direct',
    channel: 'telegram',
    lastChannel: 'telegram',
    lastTo: String(100_000 + n),
    deliveryContext: { channel: 'telegram', to: String(100_000 + n), accountId: 'default' },
    origin: { label: `Person ${n}`, provider: 'telegram', surface: 'dm', from: String(100_000 + n) },
    displayName: `Person ${n}`,
    inputTokens: 150_000,
    outputTokens: 8000,
    totalTokens: 58_000,
    contextTokens: 200_000,
    modelProvider: 'anthropic',
    model: 'claude-sonnet-5',
    compactionCount: 1,
    skillsSnapshot: { prompt, skills: [{ name: 'a-skill' }], version: 1 },
    systemPromptReport: { source: 'run', workspace: '/home/dev/work', chars: 12_000 },
  }
}
