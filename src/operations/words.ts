// Text for an agent: something must be in it.
import { z } from 'zod'

export const nonBlankText = z.string().regex(/\S/, 'It has no words.')
