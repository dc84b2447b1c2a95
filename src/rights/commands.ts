// Who may give which command of a chat. A command changes what everybody in the chat has: its session, its model, its queue.

/** Whoever may talk; in a group the people named in its list; in a group the owner; the owner anywhere. */
export type CommandRight = 'anybody' | 'members-in-groups' | 'owner-in-groups' | 'owner'

export interface CommandGiver {
  byOwner: boolean
  /** Named in the list of the group (`allowFrom`), or the owner. */
  byMember: boolean
  inGroup: boolean
}

export function mayCommand(right: CommandRight, { byOwner, byMember, inGroup }: CommandGiver): boolean {
  if (byOwner || right === 'anybody') return true
  if (right === 'owner') return false
  return !inGroup || (right === 'members-in-groups' && byMember)
}
