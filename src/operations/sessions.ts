// Sessions: list, show and change them.
import type { Operation } from './operation.ts'

export const operations: Operation[] = []
