// One question to a small model, answered as JSON, without tools and without a session. Uses the Messages API if the credential
// allows it; otherwise a Claude process, which supports the other credentials.
import { RockpoolError } from '../domain/errors.ts'
import type { AskStructured, StructuredQuestion } from '../domain/selection.ts'
import type { Environment } from '../store/config-file.ts'
import type { Credential } from './credentials.ts'
import { childEnvironment } from './claude-program.ts'
import { spawnProcess, type AgentProcess } from './process.ts'

interface AskStructuredOptions {
  environment: Environment
  credential: Credential
  /** Short names of models, from the configuration. */
  models: Readonly<Record<string, string>>
  temporaryDirectory: string
  binary?: string
  version: string
}

const shortNames: Readonly<Record<string, string>> = {
  haiku: 'claude-haiku-5-5',
  'claude-haiku': 'claude-haiku-5-5',
  sonnet: 'claude-sonnet-5',
  'claude-sonnet': 'claude-sonnet-5',
  opus: 'claude-opus-5-5',
  'claude-opus': 'claude-opus-5-5',
}

export function makeAskStructured(options: AskStructuredOptions): AskStructured {
  const { models, credential } = options
  const ask = credential.kind === 'api-key' || credential.kind === 'auth-token' ? askApi : askProcess
  return (question, signal) => {
    const model = models[question.model] ?? shortNames[question.model] ?? question.model
    return ask({ ...question, model }, options, signal)
  }
}

/** The model must call the only tool; the input of that call is the answer. */
async function askApi(
  question: StructuredQuestion,
  { environment, credential }: AskStructuredOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const base = environment.variables['ANTHROPIC_BASE_URL'] || 'https://api.anthropic.com'
  const token = credential.variables['ANTHROPIC_AUTH_TOKEN']
  const key = credential.variables['ANTHROPIC_API_KEY']
  const response = await fetch(`${base.replace(/\/+$/, '')}/v1/messages`, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...(token ? { authorization: `Bearer ${token}` } : { 'x-api-key': key ?? '' }),
    },
    body: JSON.stringify({
      model: question.model,
      max_tokens: question.maxTokens,
      system: question.system,
      messages: [{ role: 'user', content: question.prompt }],
      tools: [{ name: 'answer', description: 'Gives the answer.', input_schema: question.schema }],
      tool_choice: { type: 'tool', name: 'answer' },
    }),
  })
  const body = (await response.json().catch(() => ({}))) as ApiAnswer
  const answer = body.content?.find((block) => block.type === 'tool_use')
  if (answer) return answer.input
  const reason = body.error?.message ?? `status ${response.status} without an answer`
  throw new RockpoolError('unavailable', `The model ${question.model} did not answer: ${reason}.`)
}

interface ApiAnswer {
  content?: Array<{ type: string; input?: unknown }>
  error?: { message?: string }
}

async function askProcess(
  question: StructuredQuestion,
  options: AskStructuredOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const { query } = await import('@anthropic-ai/claude-agent-sdk')
  const { environment, credential, temporaryDirectory, version, binary } = options
  const settings = { credential, temporaryDirectory, version, maxRetries: 1, passEnvironment: [] }
  const spawned: AgentProcess[] = []
  const end = (): void => void Promise.all(spawned.map((process) => process.end(0)))
  signal.addEventListener('abort', end, { once: true })
  try {
    const messages = query({
      prompt: question.prompt,
      options: {
        model: question.model,
        systemPrompt: question.system,
        env: childEnvironment(environment, settings),
        pathToClaudeCodeExecutable: binary || undefined,
        settings: credential.apiKeyHelper ? { apiKeyHelper: credential.apiKeyHelper } : undefined,
        cwd: temporaryDirectory,
        settingSources: [],
        strictMcpConfig: true,
        tools: [],
        persistSession: false,
        thinking: { type: 'disabled' },
        outputFormat: { type: 'json_schema', schema: question.schema },
        spawnClaudeCodeProcess: (spawn) => {
          const process = spawnProcess(spawn)
          spawned.push(process)
          return process.spawned
        },
      },
    })
    for await (const message of messages) {
      if (message.type !== 'result') continue
      if (message.subtype === 'success' && !message.is_error) return message.structured_output
      const reason = message.subtype === 'success' ? message.result : message.errors.join(' ')
      throw new RockpoolError('unavailable', `The model ${question.model} did not answer: ${reason}.`)
    }
    throw new RockpoolError('unavailable', `The model ${question.model} did not answer.`)
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}
