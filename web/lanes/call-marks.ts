import type { CallColumns } from '../data/lane-columns.ts'
import { CALL_STATES, indexRange } from '../data/lane-columns.ts'
import type { TimeScale } from './time-scale.ts'

/* Calls as marks in a bar: neighbours of one category stack, and a mark stays inside its bar. */

export interface CallMark {
  /** Index of the first call in the columns, and how many are in the stack. */
  index: number
  count: number
  /** Centre. */
  x: number
  category: number
  /** The state that matters most: failed, then waiting, running, ok. */
  state: number
  /** End of the tail; `null` without one. */
  tail: number | null
  /** Room for the count is to the right. */
  showsCount: boolean
}

export interface Bar {
  index: number
  x: number
  width: number
  from: number
  to: number
}

const STACK = 7.5
/** Marks of different categories closer than this cover each other. */
const COVER = 7
const TAIL = 9
const RADIUS = 5.5
const ROOM_FOR_COUNT = 17
const RANK = CALL_STATES.map((state) => ['ok', 'running', 'waiting', 'failed'].indexOf(state))

export function callMarks(calls: CallColumns, bar: Bar, scale: TimeScale): CallMark[] {
  const marks: CallMark[] = []
  const starts: number[] = []
  const [first, end] = indexRange(calls, bar.from, bar.to)
  for (let index = first; index < end; index += 1) {
    const start = calls.start[index] ?? 0
    if (start < bar.from) continue
    const x = scale.x(start)
    const category = calls.category[index] ?? 0
    const state = calls.state[index] ?? 0
    const last = marks.at(-1)
    const distance = last ? x - (starts.at(-1) ?? 0) : Infinity
    const finish = Math.min(calls.end[index] ?? 0, bar.to)
    const tail = finish - start > TAIL / scale.view.k ? scale.x(finish) : null
    if (last && (distance < COVER || (distance < STACK && last.category === category && last.tail === null))) {
      last.count += 1
      last.state = (RANK[state] ?? 0) > (RANK[last.state] ?? 0) ? state : last.state
      last.tail = tail ?? last.tail
      starts[starts.length - 1] = x
    } else {
      marks.push({ index, count: 1, x, category, state, tail, showsCount: false })
      starts.push(x)
    }
  }
  placeMarks(marks, bar)
  return marks
}

/** Moves marks by at most 3 px to stay inside the bar; a mark that does not fit stands in the middle. */
function placeMarks(marks: CallMark[], bar: Bar): void {
  const right = bar.x + bar.width
  marks.forEach((mark, place) => {
    const low = bar.x + RADIUS
    const high = right - RADIUS - (mark.count > 1 ? 2.5 : 0)
    if (high < low) mark.x = bar.x + bar.width / 2
    else mark.x = Math.min(Math.max(mark.x, Math.min(low, mark.x + 3)), Math.max(high, mark.x - 3))
    const next = marks[place + 1]
    const room = (next ? next.x - RADIUS : right) - mark.x
    mark.showsCount = mark.count > 1 && room > ROOM_FOR_COUNT
    if (mark.tail !== null) mark.tail = Math.min(mark.tail, right - 3)
  })
}
