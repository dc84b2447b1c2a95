// `memory` in the configuration: what is indexed, and how meaning is computed.
import { z } from 'zod'

export const memoryConfig = z.strictObject({
  /** Further folders with Markdown files. */
  folders: z.array(z.string()).default([]),
})

export type MemoryConfig = z.infer<typeof memoryConfig>
