import { useEffect, useRef, useState } from 'react'
import type { InboxItem } from '../../src/surfaces/http/contract.ts'
import { SourceError } from '../data/source.ts'
import { Button } from '../design/controls.tsx'
import { inertLine } from '../design/inert-text.ts'
import { EmptyState, ErrorState, LoadingRows } from '../design/notice.tsx'
import { useKeys } from '../shell/keys.ts'
import { usePage } from '../shell/page-context.ts'
import { navigate } from '../shell/router.ts'
import { DecisionBar } from './decision-bar.tsx'
import { QuestionContext, QuestionNotice, QuestionText } from './question.tsx'
import type { Answered } from './question-queue.tsx'
import { QuestionQueue } from './question-queue.tsx'
import { useInbox } from './use-inbox.ts'

/** One question at a time, with the list of all beside it. */
export function InboxPage({ gateId }: { gateId: string | null }) {
  const { questions, error, reload } = useInbox()
  const [answered, setAnswered] = useState<readonly Answered[]>([])
  const isAnswered = ({ gate_id, hash }: InboxItem) =>
    answered.some(({ question }) => question.gate_id === gate_id && question.hash === hash)
  const open = (questions ?? []).filter((question) => !isAnswered(question))
  const current = useCurrentQuestion(open, gateId)
  useQuestionKeys(open, current.question)
  if (questions === null)
    return error === null ? (
      <LoadingRows rows={6} height={48} />
    ) : (
      <ErrorState title="The inbox cannot be loaded." action={<Button onClick={() => void reload()}>Try again</Button>}>
        {inertLine(error.message, 300)}
      </ErrorState>
    )
  const onAnswered = (question: InboxItem, answer: string) => {
    setAnswered([{ question, answer, at: Date.now() }, ...answered])
    navigate({ page: 'inbox', gateId: null }, { replace: true })
    void reload()
  }
  return (
    <div className="inbox-page">
      <QuestionQueue open={open} answered={answered} current={current.question} />
      {current.question === null ? (
        <NoQuestion wanted={gateId} />
      ) : (
        <CurrentQuestion
          key={current.question.gate_id}
          question={current.question}
          isGone={current.isGone}
          position={positionText(open, current.question)}
          hasNext={open.some(({ gate_id }) => gate_id !== current.question?.gate_id)}
          onAnswered={onAnswered}
          reload={reload}
        />
      )}
    </div>
  )
}

/** The question of the address, or the oldest. One that is answered elsewhere stays until the person goes on. */
function useCurrentQuestion(
  open: readonly InboxItem[],
  gateId: string | null,
): { question: InboxItem | null; isGone: boolean } {
  const [shown, setShown] = useState<InboxItem | null>(null)
  const found = gateId === null ? open[0] : open.find(({ gate_id }) => gate_id === gateId)
  const question = found ?? (shown !== null && shown.gate_id === gateId ? shown : null)
  if (question !== null && question !== shown) setShown(question)
  // The address names the question that is shown, so that it stays when others come or go.
  const id = question?.gate_id ?? null
  useEffect(() => {
    if (gateId === null && id !== null) navigate({ page: 'inbox', gateId: id }, { replace: true })
  }, [gateId, id])
  return { question, isGone: found === undefined }
}

function useQuestionKeys(open: readonly InboxItem[], current: InboxItem | null): void {
  const move = (by: number) => {
    const index = open.findIndex(({ gate_id }) => gate_id === current?.gate_id)
    const next = open[Math.max(0, Math.min(open.length - 1, index + by))]
    if (next !== undefined) navigate({ page: 'inbox', gateId: next.gate_id })
  }
  useKeys('Inbox', [
    { keys: 'j', label: 'Next question', run: () => move(1) },
    { keys: 'k', label: 'Previous question', run: () => move(-1) },
  ])
}

function positionText(open: readonly InboxItem[], { gate_id }: InboxItem): string {
  const index = open.findIndex((question) => question.gate_id === gate_id)
  return index === -1 ? '' : `${index + 1} of ${open.length}`
}

interface CurrentQuestionProps {
  question: InboxItem
  isGone: boolean
  position: string
  hasNext: boolean
  onAnswered: (question: InboxItem, answer: string) => void
  reload: () => Promise<void>
}

function CurrentQuestion({ question, isGone, position, hasNext, onAnswered, reload }: CurrentQuestionProps) {
  const { source } = usePage()
  const content = useRef<HTMLElement>(null)
  const [firstHash] = useState(question.hash)
  const answer = async (text: string): Promise<string | null> => {
    try {
      await source.commands?.answer(question.gate_id, text, question.hash)
      onAnswered(question, text)
      return null
    } catch (error) {
      await reload()
      // Answered or changed meanwhile: the question itself shows it after the reload.
      if (error instanceof SourceError && (error.status === 404 || error.status === 409)) return null
      const { message } = error as Error
      return error instanceof SourceError && error.hint ? `${message} ${error.hint}` : message
    }
  }
  const notice = isGone ? (
    <QuestionNotice tone="completed">
      <p>This question was answered elsewhere. The run goes on.</p>
      {hasNext ? <Button onClick={() => navigate({ page: 'inbox', gateId: null })}>Next question</Button> : null}
    </QuestionNotice>
  ) : question.hash !== firstHash ? (
    <QuestionNotice tone="stalled">The question changed while you looked at it. This is the new one.</QuestionNotice>
  ) : null
  return (
    <>
      <div className="question">
        <QuestionText question={question} notice={notice} content={content} />
        {isGone ? null : <DecisionBar question={question} content={content} position={position} onAnswer={answer} />}
      </div>
      <QuestionContext question={question} />
    </>
  )
}

function NoQuestion({ wanted }: { wanted: string | null }) {
  return (
    <div className="question">
      <EmptyState title={wanted === null ? 'No open questions.' : 'This question is not open.'}>
        Runs go on by themselves; you will see a count in the title.
      </EmptyState>
    </div>
  )
}
