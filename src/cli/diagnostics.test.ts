import { expect, test } from 'vitest'
import { copyProgress, scanProgress } from './diagnostics.ts'

/** Shows progress at these times (ms), the last one complete; returns what was written. */
function shown(isTTY: boolean, times: number[]): string {
  let text = ''
  let time = 0
  const tell = scanProgress({ isTTY, write: (more) => (text += more) }, () => time)
  times.forEach((at, i) => {
    time = at
    const filesDone = i + 1
    tell({ files: times.length, filesDone, bytes: times.length * 1024, bytesDone: filesDone * 1024 })
  })
  return text
}

test('a short scan says nothing', () => {
  expect(shown(true, [0, 100, 600])).toBe('')
  expect(shown(false, [0, 100, 600])).toBe('')
})

test('on a terminal one line changes and is gone at the end', () => {
  expect(shown(true, [0, 800, 1000, 1200])).toBe(
    '\rReading sessions: 2 of 4 files, 2.0 KB of 4.0 KB (50%)\x1b[K' +
      '\rReading sessions: 3 of 4 files, 3.0 KB of 4.0 KB (75%)\x1b[K' +
      '\r\x1b[K',
  )
})

test('elsewhere a line comes now and then', () => {
  expect(shown(false, [0, 800, 1000, 6000, 6100])).toBe(
    'Reading sessions: 2 of 5 files, 2.0 KB of 5.0 KB (40%)\n' +
      'Reading sessions: 4 of 5 files, 4.0 KB of 5.0 KB (80%)\n',
  )
})

test('a copy says every two seconds how much it has copied', () => {
  let [text, time] = ['', 0]
  const tell = copyProgress({ write: (more) => (text += more) }, () => time)
  for (time = 0; time <= 5_000; time += 500) tell({ sessions: time / 10, archives: 0, problems: [] })
  expect(text).toBe('Copying: 200 sessions\nCopying: 400 sessions\n')
})
