/** Amounts of a few cents keep four digits: $0.0050 is not $0.01. */
export function formatUsd(amount: number): string {
  return `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`
}
