// `memory` in the configuration: what is indexed, and how meaning is computed.
import { z } from 'zod'

export const memoryConfig = z.strictObject({
  /** Further folders with Markdown files. */
  folders: z.array(z.string()).default([]),
  /** Search by meaning: with word vectors on this machine, with an endpoint that speaks as OpenAI's does, or not at all. */
  meaning: z
    .strictObject({
      use: z.enum(['machine', 'provider', 'none']).default('machine'),
      /** The endpoint without `/embeddings`. */
      url: z.url({ protocol: /^https?$/ }).optional(),
      model: z.string().optional(),
      apiKey: z.string().optional(),
      /** Which languages the model knows, for people. */
      languages: z.string().default('many languages'),
    })
    .refine(({ use, url, model }) => use !== 'provider' || (url !== undefined && model !== undefined), {
      error: 'a provider needs `url` and `model`',
    })
    .prefault({}),
})
