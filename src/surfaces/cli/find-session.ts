import { TroupeError } from '../../errors.ts'
import type { SessionRow, Troupe } from '../../index.ts'

const SESSIONS_SEARCHED = 1000
const IDS_LISTED = 5
/** A session id, or a prefix of one or of the part after its dash. */
const SESSION_ID = /^[0-9a-f]{6,16}(-[0-9a-f]{0,16}(_\S*)?|_\S*)?$/

/** True for text that can only be meant as a session id. */
export function isSessionIdPrefix(text: string): boolean {
  return SESSION_ID.test(text)
}

/** The session with this id or unique prefix; without one, the newest that began a run of this pattern. */
export async function findSession(troupe: Troupe, pattern: string, idPrefix: string | undefined): Promise<string> {
  const { items: rows } = await troupe.sessions({ limit: SESSIONS_SEARCHED })
  if (idPrefix === undefined) return newestSession(troupe, pattern, rows)
  const ids = rows.map(({ session_id }) => session_id)
  // An id that is not among the newest ones is looked up when the run starts.
  if (ids.includes(idPrefix) || /^[0-9a-f]{16}-[0-9a-f]{16}_./.test(idPrefix)) return idPrefix
  const matches = ids.filter((id) => id.startsWith(idPrefix) || id.slice(id.indexOf('-') + 1).startsWith(idPrefix))
  const [found] = matches
  if (found !== undefined && matches.length === 1) return found
  const hint = 'list sessions with: troupe sessions'
  if (found === undefined) {
    const message = `no session '${idPrefix}'; known: ${ids.slice(0, IDS_LISTED).join(', ') || 'none'}`
    throw new TroupeError('unknown_session', message, {
      hint: `${hint}; put an instruction of several words in quotes`,
      alternatives: ids.slice(0, IDS_LISTED),
    })
  }
  throw new TroupeError('invalid_input', `--continue ${idPrefix} matches ${matches.length} sessions`, {
    hint: `give more characters of the id; ${hint}`,
    alternatives: matches.slice(0, IDS_LISTED),
  })
}

async function newestSession(troupe: Troupe, pattern: string, rows: readonly SessionRow[]): Promise<string> {
  for (const { session_id, run_id, parent_session_id } of rows) {
    if (parent_session_id === null && (await troupe.getRun(run_id)).pattern === pattern) return session_id
  }
  throw new TroupeError('unknown_session', '--continue: there is no session to continue yet', {
    hint: `start one with: troupe run ${pattern} "…"; list sessions with: troupe sessions`,
  })
}
