// One measured figure of the bench: what was wanted, what was measured, and how.

export interface BenchResult {
  name: string
  measured: string
  wanted: string
  ok: boolean
  how: string
}

export function atMost(name: string, value: number, limit: number, unit: string, how: string): BenchResult {
  const measured = `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`
  return { name, measured, wanted: `at most ${limit} ${unit}`, ok: value <= limit, how }
}
