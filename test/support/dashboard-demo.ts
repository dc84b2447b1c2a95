// A machine on which a person has been working for a while: repositories, sessions of many days, some of them alive.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { identifyProcess } from '../../src/store/disk/process-identity.ts'
import type { ClaudeHome } from './claude-home.ts'
import { NativeTranscript } from './dashboard-house.ts'

export const paymentsId = '11111111-2222-4333-8444-555555555555'
export const invoicesId = '44444440-2222-4333-8444-555555555555'
export const exploreId = 'ad05f388bb7863ee4'
const minuteMs = 60_000
const dayMs = 1440 * minuteMs

export interface Demo {
  storefront: string
  accounts: string
}

export function furnish(home: ClaudeHome): Demo {
  const storefront = join(home.home, 'code/storefront')
  const accounts = join(home.home, 'code/accounts')
  makeStorefront(storefront, home)
  makeAccounts(accounts, home)
  makeGithub(home)
  payments(home, storefront)
  smallOnes(home)
  history(home)
  for (const repo of ['billing-api', 'mobile-app', 'infra'])
    mkdirSync(join(home.home, 'code', repo), { recursive: true })
  return { storefront, accounts }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function gitIn(path: string, home: ClaudeHome): (...words: string[]) => void {
  mkdirSync(path, { recursive: true })
  const who = ['-c', 'user.name=Ada Byron', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false']
  let hoursAgo = 75
  return (...words) => {
    const at = new Date(Date.now() - (hoursAgo -= 8) * 60 * minuteMs).toISOString()
    const env = { ...home.variables, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at }
    execFileSync('git', [...who, ...words], { cwd: path, env, stdio: 'ignore' })
  }
}

function makeStorefront(path: string, home: ClaudeHome): void {
  const git = gitIn(path, home)
  write(join(path, 'README.md'), '# Storefront\n')
  write(join(path, 'CLAUDE.md'), 'Money is in cents. Run npm test before you say that it works.\n')
  write(join(path, 'TODO.md'), '- retry payments\n')
  write(join(path, '.specs/checkout.md'), checkoutSpec)
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'Show what is in the cart before asking for a card')
  write(join(path, 'src/checkout.ts'), 'export const attempts = 1\n')
  git('add', '.')
  git('commit', '-qm', 'Ask the bank once, and say what it answered')
  git('worktree', 'add', '-q', '-b', 'hotfix/rounding', '../storefront-hotfix')
  git('checkout', '-q', '-b', 'retry-payments')
  write(join(path, 'src/checkout.ts'), 'export const attempts = 3\n')
  git('commit', '-qam', 'Try a card again when the bank was not reached')
  write(join(path, 'src/checkout.ts'), 'export const attempts = 3\nexport const backoffMs = 250\n')
  write(join(path, 'src/retry.test.ts'), "test('a cart survives', () => {})\n")
}

function makeAccounts(path: string, home: ClaudeHome): void {
  const git = gitIn(path, home)
  write(join(path, 'README.md'), '# Accounts\n')
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'Let people log in')
  git('checkout', '-q', '-b', 'fix-login')
}

/** Answers as GitHub's own program does. */
function makeGithub(home: ClaudeHome): void {
  const folder = join(home.home, 'bin')
  const pulls = [
    { number: 214, title: 'Try a card again when the bank was not reached', headRefName: 'retry-payments' },
    { number: 209, title: 'Round once, at the end', headRefName: 'hotfix/rounding' },
  ].map((pull) => ({ ...pull, state: 'OPEN' }))
  const checks = 'unit tests\\tpass\\t1m2s\\t\\nend to end\\tfail\\t4m10s\\t\\n'
  const file = join(folder, 'gh')
  write(
    file,
    `#!/bin/sh\ncase "$1 $2" in\n"pr list") echo '${JSON.stringify(pulls)}';;\n"pr checks") printf '${checks}'; exit 1;;\nesac\n`,
  )
  chmodSync(file, 0o755)
  home.variables['PATH'] = `${folder}:${home.variables['PATH']}`
}

const checkoutSpec = `# Checkout

A cart is kept until the bank has said **yes**.

| the bank says | the cart | the person sees |
|---|---|---|
| yes | is cleared | a receipt |
| no | stays | why, and another card |
| nothing | stays | "Trying again…", three times |

- Money is in cents, rounded once, at the end.
- See also [how banks answer](https://example.com/banks).
`
const checkoutBefore = `import { charge } from './bank'

export async function pay(cart: Cart) {
  const answer = await charge(cart.total)
  if (!answer.ok) cart.clear()
  return answer
}`
const checkoutAfter = `import { charge } from './bank'
import { retry } from './retry'

export async function pay(cart: Cart) {
  const answer = await retry(() => charge(cart.total), { attempts: 3 })
  if (answer.ok) cart.clear()
  return answer
}`

function payments(home: ClaudeHome, cwd: string): void {
  const branch = 'retry-payments'
  const native = new NativeTranscript(home, cwd, paymentsId, {
    startedAt: Date.now() - 50 * minuteMs,
    branch,
  })
  const log = '12:04:31 charge 4711 failed: ETIMEDOUT, cart cleared\n'.repeat(220)
  native.prompt('Carts are lost when the bank does not answer. Retry failed card payments and keep the cart.')
  native.answer(
    [
      { type: 'thinking', thinking: 'First find out how often this happens. '.repeat(40), signature: 'x' },
      {
        type: 'text',
        text: 'Let me see **how often** it happens first:\n\n- the log of yesterday\n- the code\n',
      },
      { type: 'tool_use', id: 't0', name: 'Bash', input: { command: 'grep -c ETIMEDOUT logs/payments.log' } },
    ],
    { cache_creation_input_tokens: 18_000 },
  )
  native.result('t0', log)
  native.later(4 * minuteMs)
  const edit = { old_string: checkoutBefore, new_string: checkoutAfter }
  native.answer(
    [
      { type: 'text', text: 'The cart is cleared *before* we know. I turn that around and try three times.' },
      {
        type: 'tool_use',
        id: 't1',
        name: 'Edit',
        input: { file_path: join(cwd, 'src/checkout.ts'), ...edit },
      },
      {
        type: 'tool_use',
        id: 't2',
        name: 'Task',
        input: {
          subagent_type: 'Explore',
          description: 'Find who else charges a card',
          prompt: 'Who calls charge()?',
        },
      },
    ],
    { cache_read_input_tokens: 19_000, cache_creation_input_tokens: 9_000, output_tokens: 900 },
  )
  native.result('t1', 'The file src/checkout.ts has been updated.')
  native.result('t2', 'Only checkout.ts and subscriptions.ts.', exploreId)
  explore(native)
  native.later(6 * minuteMs)
  native.answer('Only **two** places charge a card; both retry now.', {
    cache_read_input_tokens: 28_000,
    output_tokens: 900,
  })
  native.later(8 * minuteMs)
  native.compaction()
  native.prompt('Is the customer told while we retry?')
  native.later(minuteMs)
  native.answer(
    [
      { type: 'tool_use', id: 't3', name: 'Read', input: { file_path: join(cwd, 'src/checkout-page.tsx') } },
      { type: 'tool_use', id: 't4', name: 'Bash', input: { command: 'npm test -- checkout' } },
    ],
    { cache_read_input_tokens: 24_000, output_tokens: 700 },
  )
  native.result('t3', log)
  native.result('t4', 'Test Files  4 passed (4)\n     Tests  31 passed (31)')
  native.later(28 * minuteMs)
  native.answer('Yes: the button says “Trying again…” and stays disabled. All 31 tests pass.', {
    cache_read_input_tokens: 36_000,
    output_tokens: 4_000,
  })
}

/** The sub-agent that the payments' session sent out. */
function explore(native: NativeTranscript): void {
  const about = { agentType: 'Explore', description: 'Find who else charges a card', toolUseId: 't2' }
  const subagent = native.subagent(exploreId, { ...about, finished: true })
  subagent.prompt('Who calls charge()?')
  subagent.answer([
    { type: 'text', text: 'I look for the **name** first, then at each place.' },
    { type: 'tool_use', id: 'e1', name: 'Grep', input: { pattern: 'charge\\(', path: 'src' } },
  ])
  subagent.result('e1', 'src/checkout.ts:4: charge(cart.total)\nsrc/subscriptions.ts:19: charge(plan.price)')
  subagent.later(minuteMs)
  subagent.answer('Just `checkout.ts` and `subscriptions.ts` do; nobody else imports the bank.')
}

interface SmallOne {
  repo: string
  branch: string
  minutesAgo: number
  asked: string
  answered: string
  next: string
}

const small: SmallOne[] = [
  {
    repo: 'billing-api',
    branch: 'rounding',
    minutesAgo: 20,
    asked: 'Round invoice totals once, at the end',
    answered: 'Rounded once, and tested.',
    next: 'Publish it as a patch release',
  },
  {
    repo: 'mobile-app',
    branch: 'dark-mode',
    minutesAgo: 3,
    asked: 'Dark mode for the settings screen',
    answered: 'The colours come from the system now.',
    next: 'Go through the other screens as well',
  },
  {
    repo: 'billing-api',
    branch: 'main',
    minutesAgo: 26 * 60,
    asked: 'Why does the nightly export take two hours?',
    answered: 'It asks for every customer one by one.',
    next: 'Ask for a thousand at a time',
  },
  {
    repo: 'infra',
    branch: 'main',
    minutesAgo: 3 * 1440,
    asked: 'Rotate the certificates before Friday',
    answered: 'Rotated; the old ones end on Sunday.',
    next: 'Write down how, in the runbook',
  },
]

function smallOnes(home: ClaudeHome): void {
  small.forEach(({ repo, branch, minutesAgo, asked, answered, next }, i) => {
    const id = `4444444${i}-2222-4333-8444-555555555555`
    const startedAt = Date.now() - minutesAgo * minuteMs
    const other = new NativeTranscript(home, join(home.home, 'code', repo), id, { startedAt, branch })
    other.prompt(asked)
    other.answer(answered, { cache_read_input_tokens: 30_000 + 40_000 * i, output_tokens: 3_000 })
    other.prompt(next)
    other.answer('Done.', { cache_read_input_tokens: 31_000 + 41_000 * i, output_tokens: 1_000 })
  })
  beAlive(home, '44444441-2222-4333-8444-555555555555', process.pid, { status: 'busy' })
  beAlive(home, invoicesId, process.ppid, { status: 'waiting', waitingFor: 'permission to run: npm publish' })
}

/** An entry in Claude Code's registry of running sessions, for a process that really runs. */
export function beAlive(
  home: ClaudeHome,
  sessionId: string,
  pid: number,
  more: Record<string, string>,
): void {
  const procStart = identifyProcess(pid)?.startTime
  mkdirSync(join(home.configDir, 'sessions'), { recursive: true })
  const path = join(home.configDir, 'sessions', `${pid}.json`)
  writeFileSync(path, JSON.stringify({ pid, sessionId, procStart, ...more }))
}

const chores = [
  'Bring the dependencies up to date',
  'Find out why the cart forgets its coupon',
  'Write the release notes of this week',
  'Make the search forgive a typing error',
  'Split the settings page into parts',
  'Tests for the refund of half an order',
  'Why is the first page slow on a phone?',
]
const models = ['claude-sonnet-4-5-20250929', 'claude-opus-4-5-20251101', 'claude-haiku-4-5-20251001']

/** A little of every second day, for the heat map. */
function history(home: ClaudeHome): void {
  for (let day = 2; day < 150; day += day % 3 === 0 ? 1 : 2) {
    const id = `5555${String(day).padStart(4, '0')}-2222-4333-8444-555555555555`
    const repo = ['billing-api', 'mobile-app', 'storefront', 'infra'][day % 4]!
    const old = new NativeTranscript(home, join(home.home, 'code', repo), id, {
      startedAt: Date.now() - day * dayMs,
      model: models[day % 5 === 0 ? 1 : day % 7 === 0 ? 2 : 0],
    })
    old.prompt(chores[day % chores.length]!)
    old.answer('Done, and tested.', {
      cache_read_input_tokens: 30_000 * (day % 5),
      cache_creation_input_tokens: 9_000 * (1 + (day % 3)),
      output_tokens: 2_000 * (1 + (day % 7)),
    })
  }
}
