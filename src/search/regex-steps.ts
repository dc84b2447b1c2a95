// How many steps a regular expression takes on a text at most. With few steps it may run in the gateway's own thread without a
// time limit. A bound that is too high only costs time: the expression then runs under a time limit.

/** In how many ways a part of an expression can match from one place: `ways` times the length of the text to the power of `power`. */
export interface Effort {
  ways: number
  power: number
  /** How many characters, classes and assertions are tried for one way. */
  size: number
}

export const oneWay: Effort = { ways: 1, power: 0, size: 1 }
/** Of a part that is not looked at more closely. */
export const noBound: Effort = { ways: Infinity, power: 0, size: 1 }

export function stepsOn(length: number, { ways, power, size }: Effort): number {
  // It is tried from every place.
  return ways * size * (length + 1) ** (power + 1)
}

/** One part after the other. */
export function inSequence(a: Effort, b: Effort): Effort {
  return { ways: a.ways * b.ways, power: a.power + b.power, size: a.size + b.size }
}

/** One part or the other. */
export function eitherOf(a: Effort, b: Effort): Effort {
  return { ways: a.ways + b.ways, power: Math.max(a.power, b.power), size: a.size + b.size }
}

export function repeated(part: Effort, least: number, most: number): Effort {
  const { ways, power, size } = part
  if (least === 1 && most === 1) return part
  // Several ways in each of any number of rounds: their number grows exponentially.
  if (most === Infinity) return ways === 1 && power === 0 ? { ways, power: 1, size } : noBound
  return { ways: (most - least + 1) * ways ** most, power: power * most, size: size * Math.max(1, most) }
}
