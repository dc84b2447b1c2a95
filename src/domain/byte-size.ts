// Sizes for people, the same in the terminal and on the page, so it imports nothing.
export function formatBytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let unit = 0
  for (; count >= 1024 && unit < units.length - 1; unit++) count /= 1024
  return `${count < 10 && unit > 0 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`
}
