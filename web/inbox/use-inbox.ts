import { useCallback, useEffect, useState } from 'react'
import type { InboxItem } from '../../src/surfaces/http/contract.ts'
import { usePage } from '../shell/page-context.ts'

export interface InboxState {
  /** Oldest first; `null` until the first answer. */
  questions: readonly InboxItem[] | null
  error: Error | null
  reload: () => Promise<void>
}

/** The open questions, kept up to date. */
export function useInbox(): InboxState {
  const { source, feed } = usePage()
  const [questions, setQuestions] = useState<readonly InboxItem[] | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const reload = useCallback(async () => {
    try {
      const found = await source.inbox()
      const open = found.filter(({ pending_answer_by }) => pending_answer_by === undefined)
      setQuestions(open)
      setError(null)
      feed.setOpenQuestions(open.length)
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)))
    }
  }, [source, feed])
  useEffect(() => {
    void reload()
    return feed.onInbox(() => void reload())
  }, [feed, reload])
  return { questions, error, reload }
}
