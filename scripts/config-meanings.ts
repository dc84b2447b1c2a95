// The meaning of every configuration key, and an example for each section, for docs/config.md. Keys that occur in several places
// have one entry: `*` stands for one part of the path.

/** The first entry whose pattern fits the key. */
export function meaningOf(key: string): string {
  const found = Object.entries(meanings).find(([pattern]) => fits(pattern, key))
  if (found) return found[1]
  throw new Error(`The configuration key ${key} has no meaning in scripts/config-meanings.ts.`)
}

function fits(pattern: string, key: string): boolean {
  const expected = pattern.split('.')
  const parts = key.split('.')
  return expected.length === parts.length && expected.every((part, i) => part === '*' || part === parts[i])
}

const meanings: Record<string, string> = {
  store:
    'Where sessions and queues are stored: SQLite, OpenClaw-compatible files, or PostgreSQL for several machines.',
  durability:
    '`full` syncs every write to the disk before it is acknowledged. `relaxed` may lose the last moment in a power cut.',
  timeZone:
    'The time zone of days and reset hours, such as `Europe/Berlin`; the zone of the machine when absent.',
  'log.level': 'The least severe log lines that are written.',
  'log.file': 'The log file; `logs/` in the state directory when absent.',

  'session.scope': '`per-sender` keeps one conversation per person or group; `global` shares one among all.',
  'session.dmScope':
    'Which private messages share a conversation: all, those of a person, of a person on one platform, or on one account.',
  'session.mainKey': 'The name of the main conversation.',
  'session.identityLinks': 'Accounts of one person on several platforms, so that they share a conversation.',
  'session.store': 'The path of `sessions.json`; it may contain `{agentId}`.',
  'session.reset.*':
    'When a conversation starts fresh by itself: never, daily at an hour, or after idle minutes.',
  'session.idleMinutes': 'The short form of `session.reset` with the mode `idle`.',
  'session.resetByType.*.*': 'The same for one kind of chat; it replaces `session.reset` there.',
  'session.resetByChannel': 'The same for one channel, by its name.',
  'session.resetTriggers': 'Messages that start a fresh conversation.',
  'session.parentForkMaxTokens':
    'A thread starts with the conversation of its chat, unless that is longer than this many tokens; 0 sets no limit.',
  'session.sendPolicy.default': 'Whether replies are sent where no rule matches.',
  'session.sendPolicy.rules': 'Rules that allow or deny sending; one match that denies is enough.',
  'session.sendPolicy.rules[].action': 'What happens to a reply that matches.',
  'session.sendPolicy.rules[].match.channel': 'Matches chats of this channel.',
  'session.sendPolicy.rules[].match.chatType': 'Matches chats of this kind.',
  'session.sendPolicy.rules[].match.*':
    'Matches session keys that begin with this text. `keyPrefix` also matches without the part that names the agent.',
  'session.maintenance.pruneAfterDays':
    'Sessions without activity for this many days are archived; archives of that age are deleted.',
  'session.maintenance.maxEntries': 'The most sessions of an agent; the oldest are archived first.',
  'session.maintenance.maxDiskBytes':
    'The most bytes of transcripts of an agent; old archives and sessions make room.',

  'agents.*.model': "The model that answers; Claude Code's own choice when absent.",
  'agents.*.workspace': 'The folder that the agent works in, with its notes and instructions.',
  'agents.*.systemPrompt': 'Text that is added to the system prompt.',
  'agents.*.allowedTools': 'Tools that the agent may use without asking when it talks with the owner.',
  'agents.*.shared.files': 'Files and folders of the workspace that guests and groups may read.',
  'agents.*.shared.tools': 'Tools that guests and groups may use without asking.',
  'agents.*.settingSources': 'Which settings files of Claude Code are read; none when absent.',
  'agents.*.skills': 'The skills that the agent has; all when absent.',
  'agents.*.heartbeat.every': 'How often the agent takes a turn by itself, such as `30m`; never when absent.',
  'agents.*.heartbeat.target': 'The chat that gets the text of a heartbeat, `channel|target`.',
  'agents.*.memoryFlush.enabled': 'Whether the agent writes notes before its conversation is compacted.',
  'agents.*.memoryFlush.softThresholdTokens': 'How many tokens before the limit the notes are written.',
  'agents.*.memoryFlush.reserveTokensFloor': 'Tokens that stay free for the answer.',
  'agents.*.memoryFlush.*': 'The text that asks for the notes.',
  'agents.*.sessionSelection.*':
    'Replaces the setting of the same name in `sessionSelection` for this agent.',
  'agents.defaults.models': 'Short names of models that people may use with `/model`.',
  'agents.defaults.subagents.maxSpawnDepth': 'How deep sub-agents may start others.',
  'agents.defaults.subagents.maxChildren': 'How many sub-agents a session may have at once.',
  'agents.list': 'The agents. Settings that an agent does not have are taken from `agents.defaults`.',
  'agents.list[].id': 'The id of the agent: the name of its folder and a part of its session keys.',
  'agents.list[].name': 'The name that people see.',
  'agents.list[].default': 'The agent that answers where no binding matches.',

  bindings: 'Which agent answers which chats; the most specific match wins.',
  'bindings[].agentId': 'The agent that answers.',
  'bindings[].comment': 'A note for you.',
  'bindings[].match.channel': 'The channel.',
  'bindings[].match.accountId': 'Which of your accounts there: a name, or `*` for all.',
  'bindings[].match.peer.*': 'One person or one group.',
  'bindings[].match.guildId': 'A server of Discord.',
  'bindings[].match.roles': 'Roles on that server; one of them is enough.',

  'claude.binary': 'Your own `claude` program; the one that comes with Rockpool when absent.',
  'claude.credential':
    'Where the credential for Claude comes from. `auto` takes the first that is found; `none` answers offline.',
  'claude.passEnvironment': 'Further environment variables that Claude and its tools may see.',
  'claude.spare': 'Keeps one idle process ready, so that a new conversation starts at once.',
  'claude.maxLive': 'The most Claude processes for chats.',
  'claude.maxStarts': 'The most processes that start at the same time.',
  'claude.idleMinutes': 'How long a process stays alive without a message.',
  'claude.silenceSeconds': 'A turn ends when Claude sends nothing for this long and no tool runs.',
  'claude.toolSilenceSeconds': 'The same while a tool runs.',
  'claude.maxAnswerMinutes': 'How long Claude may write one part of an answer.',
  'claude.maxRetries': 'How often a request that failed is repeated.',

  'messages.groupChat.historyLimit': 'How many earlier messages of a group the agent sees.',
  'messages.groupChat.mentionPatterns':
    'Regular expressions that address the agent in a group, besides its name.',
  'messages.groupChat.activation':
    'Whether the agent answers every message in a group, or only those that address it.',
  'messages.queue.mode':
    'What happens to a message that arrives during a turn: it joins the turn, waits, is collected, or interrupts.',
  'messages.queue.debounceMs': 'How long to wait for further messages before a turn starts.',
  'messages.queue.cap': 'The most messages that wait for one session.',
  'messages.queue.drop': 'Which message is dropped when more arrive.',
  'messages.queue.byChannel': 'The same settings for one channel.',

  'channels.ownerAllowFrom':
    'The owners, as `channel:id`. When empty, the first person whose pairing is approved becomes the owner.',
  'channels.messagesPerMinute': 'How many messages of one person are accepted in a minute.',
  'channels.ownerMessagesPerMinute': 'The same for an owner.',
  'channels.*.enabled': '`false` switches the channel off.',
  'channels.*.dmPolicy': 'Who may write in private: paired people, only `allowFrom`, everybody, or no one.',
  'channels.*.allowFrom': 'The people who may write in private, by their ids.',
  'channels.*.groupPolicy': 'In which groups the agent answers: those in `groups`, all, or none.',
  'channels.*.groupAllowFrom': 'Who may write in groups; everybody there when absent.',
  'channels.*.groups': 'The groups, by id, each with `enabled`, `requireMention` and `allowFrom`.',
  'channels.*.maxAgeMinutes':
    'Messages that waited longer than this while Rockpool was away are listed and not answered.',
  'channels.*.botToken': 'The token of the bot; better stored with `rockpool channels add`.',
  'channels.*.token': 'The token of the bot; better stored with `rockpool channels add`.',
  'channels.*.tokenFile': 'A file that has the token.',
  'channels.*.apiRoot': 'The address of another API server.',
  'channels.telegram.webhook.url': 'The public address that Telegram calls, instead of polling.',
  'channels.telegram.webhook.secret': 'The secret that Telegram sends along.',
  'channels.telegram.webhook.*': 'Where the webhook listens on this machine.',
  'channels.telegram.pollSeconds': 'How long one poll waits for messages.',
  'channels.whatsapp.waWebSocketUrl': 'The address of another WhatsApp server.',
  'channels.*.accounts': 'Several accounts of one platform, by name; each may replace the settings above.',

  'gateway.port': 'The port of the gateway; the next free one if it is taken.',
  'gateway.bind': 'The address that the gateway listens on.',
  'gateway.hosts': 'Host names under which browsers reach the gateway, for example behind a proxy.',
  'gateway.origins': 'Web origins that may connect, besides the dashboard itself.',
  'gateway.allowPlaintextLan': 'Permits an address other than loopback without TLS.',
  'hooks.enabled': 'Whether programs may start turns with the hook token.',
  'hooks.allowRequestSessionKey': 'Whether a hook may choose the session that it writes to.',

  'coding.maxSessions': 'Busy coding sessions on one machine; further ones wait in the queue.',
  'coding.maxQueued': 'Sessions that may wait in the queue; a launch beyond that is refused.',
  'coding.defaultBudgetUsd': 'The budget of a session that names none, and the most that an agent may grant.',
  'coding.defaultModel': 'The model of a session that names none.',
  'coding.defaultWorkdir': 'The directory of a session that names none.',
  'coding.repos': 'Short names of repositories. Agents launch only here and in their own workspace.',
  'coding.idleTimeoutMinutes': 'The process of an idle session ends after this time; a message resumes it.',
  'coding.maxPersistedSessions': 'How many sessions `cc sessions` lists unless told otherwise.',
  'coding.maxAutoResponds': 'How many messages in a row agents may send to a session without a person.',
  'coding.permissionMode': 'The permission mode of a session that names none.',
  'coding.fallbackChannel':
    'The chat that is notified when a session has no chat of its own, `channel|target`.',
  'coding.agentChannels': 'The chats that are notified about sessions in a directory, `channel|target`.',
  'coding.perRepo.running': 'Sessions that may work in one repository at a time.',
  'coding.perRepo.queued': 'Sessions that may wait for one repository.',
  'coding.budgets.usdPerDay': 'The most that all sessions together may cost in a day.',
  'coding.budgets.repoUsdPerDay': 'The same for one repository.',
  'coding.budgets.agentUsdPerDay': 'The same for one agent.',
  'coding.progressRelay.enabled': 'Whether a session reports its progress to the session that launched it.',
  'coding.progressRelay.intervalSeconds': 'How often it reports.',
  'coding.progressRelay.includeToolUse': 'Whether tool calls are reported.',
  'coding.approvalTimeoutMinutes':
    'How long a request waits for an answer before it expires; 0 waits without limit.',
  'coding.trimWhenCold':
    'Resume in a trimmed copy by itself, at this level, when the prompt cache is cold and the copy saves at least a quarter of the price.',
  'coding.continueAfterLimit':
    "Whether sessions that Claude's usage limit stopped continue by themselves after the reset. Absent: no, and the owner is asked once.",
  'coding.reserve.percent':
    'How much of each usage window is kept for the owner. When only that is left, new sessions wait or ask. 0: nothing.',
  'coding.reserve.launches':
    '`wait`: new sessions wait for the reset. `ask`: a launch is refused unless it says `--despite-reserve`.',
  'coding.programs':
    'Programs of other coding agents (`codex`, `gemini`, `opencode`, `pi`): `path` of the file, default `model`, `passEnvironment` with names of variables that the program gets besides its usual ones. See [agents](agents.md).',
  'coding.workspaceRoots': 'Directories in which sessions may be started; anywhere when empty.',

  'discovery.configDirs': 'Further config directories of Claude Code, besides the usual ones.',
  'discovery.agentHomes': 'Further folders of Codex, Gemini CLI, opencode and pi, besides the usual ones.',
  'discovery.onlyConfigured': 'Leaves the usual directories out.',
  'vault.enabled': "Whether copies of every session's files are kept; see [the vault](vault.md).",
  'vault.maxGb':
    'The limit of its size. Above it, the oldest sessions are removed, those without a label first, none younger than a year.',
  'vault.keyFile':
    'Encrypts the vault with the content of this file. `ROCKPOOL_VAULT_PASSPHRASE` does it with a passphrase.',
  'vault.passphraseCommand':
    'Encrypts the vault with what this command prints, for example `secret-tool lookup service rockpool-vault` or `security find-generic-password -s rockpool-vault -w`.',
  'vault.shared':
    'Copies the vault to a place that other machines reach, and shows theirs: an absolute path, `s3://bucket/prefix`, or `postgres` (`ROCKPOOL_DATABASE_URL`).',
  'mail.wake':
    'Who may wake an idle session with a message: `never`, the `owner`, or `anyone` who may write to it. `rockpool mail allow` decides it for one session.',
  'mail.wakesPerHour': 'How often mail may wake one session in an hour.',
  'mail.wakesPerDay': 'How often mail may wake all sessions together in a day.',
  'mail.maxDepth':
    'Messages that answer messages wake a session only up to this depth, so that sessions that answer each other stop.',
  'mail.perMinute': 'Messages that one sender may send in a minute; the owner has no limit.',
  'mail.maxWaiting': 'Messages that may wait for one recipient; further ones are refused.',
  'mail.keepDays': 'A message that was not delivered after this time expires.',
  'sessionSelection.relevanceModel': 'The model that compares a task with earlier sessions.',
  'sessionSelection.relevanceMaxTokens': 'The most tokens of its answer.',
  'sessionSelection.relevanceTimeoutMs': 'How long to wait for it; then shared words are compared instead.',
  'sessionSelection.resumeThreshold': 'A session is resumed when its score is above this.',
  'sessionSelection.enabled': '`false` compares words and asks no model.',
  'mcpBridge.enabled': 'Whether coding sessions can ask for project status, sessions and notes.',
  'mcpBridge.tools': 'Switches single tools of the bridge off.',

  'memory.folders': 'Further folders with notes that the search covers.',
  'memory.indexShare':
    'The part of the transcripts that the indexes may take, from 0 to 1. Messages are always indexed; from there on the oldest tool inputs and results are left out, and searched in the transcripts. Below 32 MB everything is indexed.',
  'memory.meaning.use':
    'Search by meaning: with word vectors on this machine, with a provider of embeddings, or not at all.',
  'memory.meaning.url': 'The address of the provider.',
  'memory.meaning.model': 'The embedding model of the provider.',
  'memory.meaning.apiKey': 'The key of the provider.',
  'memory.meaning.languages': 'The languages of the model, for display.',
  'machine.name': 'The name of this machine in lists; its host name when absent.',
  'machine.labels': 'Labels by which sessions choose a machine.',
  'machine.turnsAtOnce': 'How many turns this machine takes at the same time.',
}

/** Each is checked against the schema by the test of the page. */
export const examples: Record<string, unknown> = {
  store: { store: 'postgres' },
  durability: { durability: 'full' },
  timeZone: { timeZone: 'Europe/Berlin' },
  log: { log: { level: 'debug' } },
  session: {
    session: {
      identityLinks: { alice: ['telegram:123456789', 'discord:80351110224678912'] },
      reset: { mode: 'daily', atHour: 4 },
    },
  },
  agents: {
    agents: {
      defaults: { model: 'sonnet' },
      list: [
        { id: 'main', default: true, workspace: '~/agents/main' },
        { id: 'research', heartbeat: { every: '2h', target: 'telegram|123456789' } },
      ],
    },
  },
  bindings: {
    agents: { list: [{ id: 'main' }, { id: 'research' }] },
    bindings: [
      { agentId: 'research', match: { channel: 'telegram', peer: { kind: 'group', id: '-1001234567890' } } },
    ],
  },
  claude: { claude: { credential: 'login', maxLive: 4 } },
  messages: {
    messages: { groupChat: { activation: 'mention' }, queue: { mode: 'collect', debounceMs: 1_500 } },
  },
  channels: {
    channels: {
      ownerAllowFrom: ['telegram:123456789'],
      telegram: { dmPolicy: 'pairing', groups: { '-1001234567890': { requireMention: true } } },
    },
  },
  gateway: { gateway: { port: 18_790, hosts: ['rockpool.example.org'] } },
  hooks: { hooks: { enabled: true } },
  coding: {
    coding: {
      maxSessions: 8,
      defaultBudgetUsd: 3,
      budgets: { usdPerDay: 40 },
      repos: { shop: '~/code/shop-api' },
      fallbackChannel: 'telegram|123456789',
    },
  },
  discovery: { discovery: { configDirs: ['/home/work/.claude'] } },
  vault: { vault: { maxGb: 5 } },
  mail: { mail: { wake: 'owner', wakesPerHour: 2 } },
  sessionSelection: { sessionSelection: { resumeThreshold: 0.7 } },
  mcpBridge: { mcpBridge: { tools: { openclaw_announce: false } } },
  memory: { memory: { folders: ['~/notes'] } },
  machine: { machine: { name: 'workshop', labels: ['gpu'] } },
}
