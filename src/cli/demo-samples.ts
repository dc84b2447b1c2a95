// The samples of `rockpool demo`: repositories, coding sessions in every state, and conversations of the last weeks.

interface SampleSession {
  name: string
  repo: string
  prompt: string
  /** The directions for the offline agent. */
  script: string
  /** Files that the session changes in its repository. */
  changes?: Readonly<Record<string, string>>
}

export interface SampleConversation {
  repo: string
  branch: string
  title: string
  hoursAgo: number
  model: string
  turns: ReadonlyArray<{
    prompt: string
    tool?: { name: string; input: object; result: string }
    answer: string
  }>
}

/** Files of each repository. */
export const sampleRepos: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'shop-api': {
    'README.md': '# Shop API\n\nOrders, payments and stock.\n',
    'CLAUDE.md': 'Money is in cents. Run `npm test` before you say that it works.\n',
    'src/orders.ts':
      'export function total(prices: number[]): number {\n  return prices.reduce((sum, price) => sum + price, 0)\n}\n',
    'db/schema.sql': 'CREATE TABLE orders (id bigint PRIMARY KEY, total bigint);\n',
  },
  storefront: {
    'README.md': '# Storefront\n',
    'src/login.tsx': 'export function Login() {\n  return <button type="submit">Log in</button>\n}\n',
  },
  'field-notes': {
    'README.md': '# Field notes\n\nAn app for counting birds.\n',
    'src/sync.py': 'RETRIES = 1\n',
  },
}

function says(text: string): string {
  return `[[offline: say ${text}]]`
}

function uses(name: string, input: object, output: string): string {
  const start = { type: 'tool-start', toolUseId: `demo-${name}`, name, input }
  const end = { type: 'tool-end', toolUseId: `demo-${name}`, isError: false, output }
  return `[[offline: emit ${JSON.stringify(start)}]][[offline: emit ${JSON.stringify(end)}]]`
}

/** Asks for permission, and says what follows from the answer. */
function asks(tool: string, input: object, then: { allowed: string; denied: string }): string {
  const ask = `[[offline: ask ${tool} ${JSON.stringify(input)}]]`
  return `${ask}[[offline: allowed ${then.allowed}]][[offline: denied ${then.denied}]]`
}

export const sampleSessions: readonly SampleSession[] = [
  {
    name: 'migrate-orders',
    repo: 'shop-api',
    prompt: 'Add a currency column to the orders and fill it for the old rows.',
    script:
      says('The schema has no currency yet. I add the column with a default, then fill the old rows.') +
      asks(
        'Bash',
        {
          command: 'psql shop -c "ALTER TABLE orders ADD COLUMN currency text NOT NULL DEFAULT \'EUR\'"',
          description: 'Add the currency column',
        },
        {
          allowed: 'Done: the column is there, and 48,210 old rows say EUR.',
          denied: 'I did not change the database. Tell me which currency the column should have.',
        },
      ),
  },
  {
    name: 'retry-sync',
    repo: 'field-notes',
    prompt: 'Let the sync retry three times when the network is away.',
    script:
      says('The sync gives up after one attempt.') +
      asks(
        'Edit',
        {
          file_path: 'src/sync.py',
          old_string: 'RETRIES = 1',
          new_string: 'RETRIES = 3\nBACKOFF_SECONDS = 2',
        },
        {
          allowed: 'The sync retries three times now, two seconds apart.',
          denied: 'I left src/sync.py as it was: the sync still tries once. What should I do instead?',
        },
      ),
  },
  {
    name: 'fix-login-button',
    repo: 'storefront',
    prompt: 'The log-in button can be pressed twice. Fix it and add a test.',
    script:
      uses('Read', { file_path: 'src/login.tsx' }, 'export function Login() …') +
      uses('Bash', { command: 'npm test' }, '12 passed') +
      says('The button is disabled while the request runs. `npm test`: 12 passed.'),
    changes: {
      'src/login.tsx':
        'export function Login({ busy }: { busy: boolean }) {\n  return (\n    <button type="submit" disabled={busy}>\n      Log in\n    </button>\n  )\n}\n',
      'src/login.test.tsx': "test('the button is disabled while the request runs', () => {})\n",
    },
  },
  {
    name: 'update-dependencies',
    repo: 'storefront',
    prompt: 'Update the dependencies and repair what breaks.',
    script:
      says('I begin with the build tools.') + '[[offline: fail overloaded The API is overloaded (529).]]',
  },
  {
    name: 'write-api-docs',
    repo: 'shop-api',
    prompt: 'Write the reference of all routes into docs/api.md.',
    script:
      uses('Grep', { pattern: 'router\\.(get|post)' }, '23 matches') +
      says('23 routes. I write one section for each.') +
      '[[offline: wait 86400000]]',
  },
]

const sonnet = 'claude-sonnet-4-5-20250929'

export const sampleConversations: readonly SampleConversation[] = [
  {
    repo: 'shop-api',
    branch: 'main',
    title: 'Round money once, at the end',
    hoursAgo: 3,
    model: sonnet,
    turns: [
      {
        prompt: 'Two invoices differ by one cent from the bank. Where do we round?',
        tool: {
          name: 'Grep',
          input: { pattern: 'Math.round' },
          result: 'src/orders.ts:14\nsrc/invoice.ts:31',
        },
        answer: 'In two places: each line is rounded, and then the sum. Round only the sum.',
      },
      { prompt: 'Do that, with a test.', answer: 'Done. The test has the two invoices of March.' },
    ],
  },
  {
    repo: 'storefront',
    branch: 'dark-mode',
    title: 'A dark scheme for the shop',
    hoursAgo: 27,
    model: sonnet,
    turns: [
      {
        prompt: 'Give the shop a dark scheme that follows the system.',
        tool: { name: 'Read', input: { file_path: 'src/style.css' }, result: ':root { --paper: #fff }' },
        answer: 'The colours are variables now, and `prefers-color-scheme` sets them.',
      },
    ],
  },
  {
    repo: 'field-notes',
    branch: 'main',
    title: 'Count birds offline',
    hoursAgo: 75,
    model: sonnet,
    turns: [
      {
        prompt: 'The app must work without a network in the forest.',
        answer: 'Counts are kept on the phone and sent later.',
      },
      {
        prompt: 'What if two phones count the same place?',
        answer: 'Each count has the id of its phone; the sum keeps both.',
      },
    ],
  },
  {
    repo: 'shop-api',
    branch: 'main',
    title: 'Why the nightly export was slow',
    hoursAgo: 160,
    model: 'claude-opus-4-1-20250805',
    turns: [
      {
        prompt: 'The nightly export takes four hours. Why?',
        tool: {
          name: 'Bash',
          input: { command: 'psql shop -c "EXPLAIN ANALYZE …"' },
          result: 'Seq Scan on orders',
        },
        answer: 'It reads all orders for each customer. An index on customer_id makes it three minutes.',
      },
    ],
  },
]
