// Amounts of money as text, the same in the terminal, in chats and on the page.

/** Amounts below ten cents keep four digits: $0.0050 is not $0.01. `smallest`: the amount beside it that must stay visible. */
export function formatUsd(amount: number, smallest = amount): string {
  return `$${amount.toFixed(smallest > 0 && smallest < 0.1 ? 4 : 2)}`
}
