// The one contract of the Claude Agent SDK that lies outside agent/: where Claude's transcripts may be kept. Types only.
export type { SessionKey, SessionStore, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk'
