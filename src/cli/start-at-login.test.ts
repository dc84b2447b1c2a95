import { expect, test } from 'vitest'
import { launchAgent, systemdUnit } from './start-at-login.ts'

test('the unit gives the gateway time to stop, and quotes what systemd would read otherwise', () => {
  const unit = systemdUnit(
    ['/opt/my node/bin/node', '/home/a"b/$HOME/100%/rockpool.js', 'up'],
    '/home/a b/.rockpool',
  )
  expect(unit).toContain('TimeoutStopSec=40')
  expect(unit).toContain('ExecStart="/opt/my node/bin/node" "/home/a\\"b/$$HOME/100%%/rockpool.js" "up"')
  expect(unit).toContain('Environment="ROCKPOOL_STATE_DIR=/home/a b/.rockpool"')
  expect(unit).toContain('UMask=0077')
})

test('the launch agent escapes what XML would read otherwise', () => {
  const text = launchAgent(['/a&b', '<up>'], '/state')
  expect(text).toContain('<string>/a&amp;b</string><string>&lt;up&gt;</string>')
  expect(text).toContain('<key>ExitTimeOut</key><integer>40</integer>')
})
