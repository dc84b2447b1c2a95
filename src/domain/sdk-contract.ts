// The only types of the Claude Agent SDK that are used outside agent/: the interface of a store for Claude's transcripts.
export type { SessionKey, SessionStore, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk'
