// Names, descriptions and parameters of all tools, commands and gateway methods. scripts/openclaw-plugin.ts generates the table
// from Rockpool's operations; nothing of it is written by hand.
import generated from './table.json' with { type: 'json' }

export interface ToolRow {
  name: string
  /** The operation of Rockpool. */
  operation: string
  description: string
  /** JSON Schema. */
  parameters: object
}

export interface PluginTable {
  id: string
  name: string
  description: string
  version: string
  tools: ToolRow[]
  commands: Array<{ name: string; description: string }>
  methods: Array<{ name: string; scope: string }>
}

export const table: PluginTable = generated
