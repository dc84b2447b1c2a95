// True while a person types into a field: then keyboard shortcuts are off.
export function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select')
}
