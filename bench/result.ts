// One measured figure of the bench: what was wanted, what was measured, and how.

export interface BenchResult {
  name: string
  measured: string
  wanted: string
  ok: boolean
  how: string
}
