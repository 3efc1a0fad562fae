import { TroupeError } from '../errors.ts'
import { pagedQuery } from './paged-query.ts'

/** What a method returns; all others return a promise. */
const RETURNS: Readonly<Record<string, 'list' | 'value'>> = {
  ...{ runs: 'list', sessions: 'list', events: 'list', gates: 'list', artifacts: 'list', accounts: 'list' },
  ...{ query: 'list', watch: 'list' },
  ...{ storeStatus: 'value', onChange: 'value', isRunning: 'value', mcpServers: 'value' },
}

/** The same object, whose methods reject with `closed` once `closing` is aborted. */
export function untilClosed<T extends object>(members: T, closing: AbortSignal): T {
  const guarded = Object.entries(members).map(([name, member]) => {
    if (typeof member !== 'function') return [name, member]
    const call = (...args: unknown[]) => {
      if (!closing.aborted) return member(...args)
      const error = new TroupeError('closed', `\`${name}\` was called after \`close\``, {
        hint: 'create another troupe with `createTroupe`, and close it after the last call',
      })
      if (RETURNS[name] === 'value') throw error
      const rejected = () => Promise.reject(error)
      return RETURNS[name] === 'list'
        ? pagedQuery({}, { list: name, scope: null, read: rejected, positionOf: () => 0 })
        : rejected()
    }
    return [name, call]
  })
  return Object.fromEntries(guarded) as T
}
