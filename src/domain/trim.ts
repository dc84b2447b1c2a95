// A trimmed resume: a copy of a session in which old tool results are replaced by notes of one line. discovery/trim/ makes it;
// prices, commands and the dashboard show it.
import { z } from 'zod'

export const trimLevels = ['light', 'normal', 'hard'] as const
export type TrimLevel = (typeof trimLevels)[number]

/** What a level leaves whole, and from which length on it cuts the rest. */
export interface TrimRule {
  /** The last results always stay. */
  keepResults: number
  /** So do results and images of the last turns, as long as they have together at most `keepTokens`. */
  keepTurns: number
  keepTokens: number
  /** Older results are cut when they are at least this long. */
  minChars: number
}

export const trimRules: Readonly<Record<TrimLevel, TrimRule>> = {
  light: { keepResults: 15, keepTurns: 4, keepTokens: 40_000, minChars: 8_000 },
  normal: { keepResults: 5, keepTurns: 2, keepTokens: 12_000, minChars: 1_500 },
  hard: { keepResults: 2, keepTurns: 1, keepTokens: 5_000, minChars: 400 },
}

export const trimCut = z.object({
  handle: z.string().describe('Gives the cut back: `recall_lost`.'),
  what: z.string().describe('The tool and what it was called with.'),
  why: z.enum(['old', 'superseded', 'image']),
  chars: z.number(),
  tokens: z.number().describe('Estimated.'),
})
export type TrimCut = z.infer<typeof trimCut>

/** The saving of a trim: tokens before and after; estimated, because Claude reports only the size of the whole context. */
export const trimSaving = z.object({
  level: z.enum(trimLevels),
  cuts: z.number(),
  tokensBefore: z.number(),
  tokensAfter: z.number(),
})
export type TrimSaving = z.infer<typeof trimSaving>
