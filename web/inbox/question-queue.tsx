import type { InboxItem } from '../../src/surfaces/http/contract.ts'
import { formatAge, formatMinute } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { StateIcon } from '../design/state.tsx'
import { Link } from '../shell/link.tsx'
import { useNow } from '../shell/page-context.ts'
import { splitQuestion } from './question.tsx'

/** An answer that was given on this page. */
export interface Answered {
  question: InboxItem
  answer: string
  at: number
}

interface QuestionQueueProps {
  open: readonly InboxItem[]
  answered: readonly Answered[]
  current: InboxItem | null
}

export function QuestionQueue({ open, answered, current }: QuestionQueueProps) {
  const now = useNow(1000)
  return (
    <nav className="question-queue" aria-label="Questions">
      <header>
        <h2>Questions</h2> <span className="muted">oldest first</span>
      </header>
      <ul>
        {open.map(({ gate_id, question, run, opened_at }) => (
          <li key={gate_id}>
            <Link
              to={{ page: 'inbox', gateId: gate_id }}
              aria-current={gate_id === current?.gate_id ? 'true' : undefined}
            >
              <StateIcon state="waiting" />
              <b className="clip">{splitQuestion(question).title}</b>
              <span className="muted">{formatAge(now - opened_at)}</span>
              <span className="clip">{inertLine(run.title, 120) || run.run_id}</span>
            </Link>
          </li>
        ))}
      </ul>
      {answered.length === 0 ? null : (
        <div className="answered-questions">
          <header>
            <h3>Answered here</h3>
          </header>
          <ul>
            {answered.map(({ question, answer, at }) => (
              <li key={question.gate_id + question.hash} className="answered-question">
                <StateIcon state="completed" />
                <b className="clip">{splitQuestion(question.question).title}</b>
                <span className="muted">{formatMinute(at)}</span>
                <span className="clip">{inertLine(answer, 60)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </nav>
  )
}
