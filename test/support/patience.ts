// A condition that is awaited may come late on a busy machine: a second, which is the usual patience, says more about
// the machine than about the program. Only what never comes costs this long. The full tests keep the machine busy themselves.
import { vi } from 'vitest'

const patienceMs = process.env['ROCKPOOL_TEST'] === 'full' ? 60_000 : 20_000
const waitFor = vi.waitFor

vi.waitFor = (condition, options) =>
  waitFor(condition, {
    timeout: patienceMs,
    interval: 10,
    ...(typeof options === 'number' ? { timeout: options } : options),
  })
