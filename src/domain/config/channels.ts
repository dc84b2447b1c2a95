// `channels` in the configuration. Secrets are better in credentials/ or the environment than here.
import { z } from 'zod'

export const channelsConfig = z.strictObject({}).prefault({})

export type ChannelsConfig = z.infer<typeof channelsConfig>
