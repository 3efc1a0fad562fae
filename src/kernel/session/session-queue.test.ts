import { expect, test } from 'vitest'
import { SessionQueues } from './session-queue.ts'

test('S21 at most `limit` sessions of a name work at once, the lowest rank next', async () => {
  const queues = new SessionQueues()
  const { signal } = new AbortController()
  const order: number[] = []
  const enter = (rank: number, name = 'a') =>
    queues.enter({ name, limit: 1, rank }, signal).then((leave) => {
      order.push(rank)
      return leave
    })
  const leaveFirst = await enter(9)
  const [late, early] = [enter(5), enter(1)]
  await enter(7, 'another name')
  expect(order).toEqual([9, 7])
  leaveFirst()
  const leaveEarly = await early
  expect(order).toEqual([9, 7, 1])
  leaveEarly()
  await late
  expect(order).toEqual([9, 7, 1, 5])
})

test('S21 a session that is aborted while it waits leaves the queue', async () => {
  const queues = new SessionQueues()
  const controller = new AbortController()
  const place = { name: 'a', limit: 1, rank: 0 }
  const leave = await queues.enter(place, new AbortController().signal)
  const waiting = queues.enter(place, controller.signal)
  const next = queues.enter(place, new AbortController().signal)
  controller.abort(new Error('cancelled'))
  await expect(waiting).rejects.toThrow('cancelled')
  leave()
  await next
})
