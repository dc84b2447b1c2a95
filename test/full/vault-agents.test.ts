// Every recorded session of every other agent, of all recorded versions, is kept, deleted, listed, read, found and restored.
import { afterEach, expect, test } from 'vitest'
import { AgentsHome } from '../support/agents-home.ts'

let home: AgentsHome
afterEach(() => home.close())

const [codex, gemini, opencode, pi] = ['.codex', '.gemini', '.local/share/opencode', '.pi/agent']

test.each<Record<string, string>>([
  { [codex]: 'codex/home', [gemini]: 'gemini/home', [opencode]: 'opencode/data', [pi]: 'pi/agent' },
  {
    [codex]: 'codex/old-versions/0.118.0',
    [gemini]: 'gemini/old-versions/0.25.0',
    [opencode]: 'opencode/old-versions/1.1.65',
    [pi]: 'pi/old-versions/0.73.1',
  },
  {
    [codex]: 'codex/old-versions/0.145.0',
    [gemini]: 'gemini/old-versions/0.38.2',
    [opencode]: 'opencode/hot-wal',
  },
  { [gemini]: 'gemini/old-versions/0.38.2-resumed-by-0.61.0' },
  { [gemini]: 'gemini/old-versions/0.39.1' },
  { [gemini]: 'gemini/resumed-later' },
])(
  'every session of every agent comes back: %o',
  async (sources) => {
    home = new AgentsHome(sources)
    await home.open()
    home.fill()
    const sessions = await home.expectComesBack()
    expect(new Set(sessions.map(({ agentKind }) => agentKind)).size).toBe(Object.keys(sources).length)
  },
  300_000,
)
