// The order of commands in the help, and a sentence for each noun: what a new user needs first comes first. A
// test keeps it complete; a command that is forgotten here is shown at the end all the same.

export interface Shelf {
  title: string
  /** The word after what was asked about: nouns at the top, verbs below a noun. */
  words: readonly string[]
}

/** By what the help is about: nothing, or a noun with many verbs. */
export const shelves: Readonly<Record<string, readonly Shelf[]>> = {
  '': [
    { title: 'Begin', words: ['setup', 'up', 'down', 'status', 'dashboard', 'doctor'] },
    { title: 'Claude Code', words: ['cc', 'approvals', 'project', 'machines'] },
    {
      title: 'Conversations',
      words: ['chat', 'agent', 'history', 'search', 'sessions', 'memory', 'turns', 'agents'],
    },
    { title: 'Channels', words: ['channels', 'pairing', 'message', 'system'] },
    { title: 'Upkeep', words: ['service', 'config', 'logs', 'health', 'backup', 'restore-backup', 'db'] },
    { title: 'For programs', words: ['mcp', 'tokens', 'gateway', 'completion'] },
  ],
  cc: [
    { title: 'See', words: ['list', 'watch', 'sessions', 'info', 'read', 'anatomy', 'costs', 'stats'] },
    { title: 'Choose and start', words: ['select', 'launch', 'why'] },
    {
      title: 'Follow and answer',
      words: ['output', 'respond', 'approvals', 'approve', 'deny', 'interrupt', 'kill', 'fg', 'bg'],
    },
    { title: 'Go on', words: ['resume', 'fork', 'attach', 'release', 'move'] },
    { title: 'Tidy up', words: ['label', 'archive', 'repair'] },
  ],
}

/** What a first word is about, in one line: where it has many verbs, or where its own sentence is long. */
export const inShort: Readonly<Record<string, string>> = {
  agents: 'Who answers: list, add, remove.',
  approvals: 'What sessions ask you, and what you allowed once and for all.',
  backup: 'Copy the whole state into a new folder.',
  cc: 'Claude Code sessions: list, select, launch, watch, answer.',
  channels: 'Telegram, Discord, WhatsApp: list, add, test, remove.',
  chat: 'Talk to an agent in this terminal.',
  config: 'Show the configuration, and where each value comes from.',
  dashboard: 'Give an address that opens the dashboard.',
  db: 'The PostgreSQL that several machines share.',
  down: 'End the gateway that runs here.',
  doctor: 'What is wrong, and what mending would do.',
  gateway: 'Call any method of the gateway.',
  machines: 'The machines that share a database.',
  memory: 'What agents noted: list, search, show, add.',
  message: 'Send a message to a chat.',
  pairing: 'Who may talk to your agents: list, approve, deny, remove.',
  project: 'A repository: git, pull requests, sessions, documents.',
  'restore-backup': 'Put a backup in the place of the state.',
  service: 'Run the gateway from log-in on: install, status, logs.',
  sessions: 'Conversations: list, show, label, fork, reset, import, export.',
  setup: 'Set up Claude, an agent, a first channel, the service.',
  status: 'What runs, what waits for you, what it cost today.',
  system: 'Tell an agent that something happened.',
  tokens: 'What opens the gateway to programs: list, add, remove.',
  turns: 'What each turn used and cost; stop one that runs.',
  up: 'Start the gateway: live sessions, channels, the dashboard.',
}
