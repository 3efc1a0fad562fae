import type { Conversation } from './conversation.ts'

const LOOK_MS = 400

/** Looks again and again whether another process goes on with the run; returns how to stop looking. */
export function keepUp(conversation: Conversation): () => void {
  let looking = false
  const look = async () => {
    if (looking) return
    looking = true
    // A store that cannot be read now is said to whoever types the next line.
    await conversation.catchUp().catch(() => {})
    looking = false
  }
  const timer = setInterval(() => void look(), LOOK_MS).unref()
  return () => clearInterval(timer)
}
