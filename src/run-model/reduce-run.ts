import type { Event, EventData, EventOf, PatternEventType } from '../kernel/event.ts'
import { isKernelEventType } from '../kernel/event.ts'
import { reduceAccounts } from './accounts.ts'
import { reduceToolEvent } from './call-rows.ts'
import { reduceGateAnswer, reduceGateOpen } from './gate-rows.ts'
import { noticeFailedViews, reduceCut, reducePatternEvent } from './pattern-events.ts'
import type { RunModel } from './run-model.ts'
import { addRow, newRunModel } from './run-model.ts'
import {
  addSteering,
  advanceClock,
  finishEvent,
  reduceClockJump,
  reduceRunAttempt,
  reduceRunCancel,
  reduceRunEnd,
  reduceRunInterrupt,
  reduceRunPark,
  reduceRunReopen,
  reduceRunStart,
} from './run-rows.ts'
import { reduceCollectedResult, reduceSessionEnd, reduceSessionInput, reduceSessionOpen } from './session-rows.ts'
import { addPerformerMessage, reduceLimitHit, reduceModelEvent, reducePerformerStep } from './turn-rows.ts'

/** True for events that a pattern emitted. */
export function isPatternEvent(event: Event): event is EventOf<PatternEventType> {
  return !isKernelEventType(event.type)
}

const REDUCERS: { [Type in keyof EventData]?: (model: RunModel, event: EventOf<Type>) => void } = {
  'run:start': reduceRunStart,
  'run:attempt': reduceRunAttempt,
  'run:reopen': (model, event) => {
    reduceRunReopen(model, event)
    reduceCut(model, event)
  },
  'run:cut': reduceCut,
  'run:park': reduceRunPark,
  'run:interrupt': reduceRunInterrupt,
  'run:clock': reduceClockJump,
  'run:cancel': reduceRunCancel,
  'run:steer': addSteering,
  'run:end': reduceRunEnd,
  'session:open': (model, event) => {
    reduceAccounts(model.costs.ledger, event)
    reduceSessionOpen(model, event)
  },
  'session:input': reduceSessionInput,
  'session:end': reduceSessionEnd,
  'model:begin': reduceModelEvent,
  'model:end': reduceModelEvent,
  'model:error': reduceModelEvent,
  'model:lost': reduceModelEvent,
  'step:begin': reducePerformerStep,
  'step:end': (model, event) => {
    reduceCollectedResult(model, event)
    reducePerformerStep(model, event)
  },
  'step:error': reducePerformerStep,
  'performer:message': addPerformerMessage,
  'tool:pre': reduceToolEvent,
  'tool:post': reduceToolEvent,
  'tool:error': reduceToolEvent,
  'gate:open': reduceGateOpen,
  'gate:answer': reduceGateAnswer,
  'limit:hit': reduceLimitHit,
}

/** The model of a whole journal, without views. */
export function foldRun(events: readonly Event[]): RunModel {
  const model = newRunModel()
  for (const event of events) reduceRun(model, event)
  return model
}

/** Updates the model in place with one event. */
export function reduceRun(model: RunModel, event: Event): void {
  advanceClock(model, event)
  if (model.tables.run.length === 0) addRow(model, 'run', model.run)
  if (isPatternEvent(event)) reducePatternEvent(model, event)
  else REDUCERS[event.type]?.(model, event as never)
  noticeFailedViews(model)
  finishEvent(model, event)
}
