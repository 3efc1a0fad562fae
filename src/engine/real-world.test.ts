import { describe, expect, test, vi } from 'vitest'
import { worldContract } from '../testing/world-contract.ts'
import { realWorld } from './real-world.ts'

worldContract('the real world', () => ({ world: realWorld(), runUntil: (until) => until }), { describe, test })

test('W5 a sleep longer than the maximum timer delay does not end at once', async () => {
  vi.useFakeTimers()
  try {
    const month = 40 * 24 * 3_600_000
    let over = false
    const slept = realWorld()
      .sleep(month)
      .then(() => {
        over = true
      })
    await vi.advanceTimersByTimeAsync(month - 1)
    expect(over).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await slept
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('W2 an aborted sleep leaves no timer that would keep the process alive', async () => {
  vi.useFakeTimers()
  try {
    const controller = new AbortController()
    const slept = realWorld().sleep(60_000, controller.signal)
    controller.abort(new Error('enough'))
    await expect(slept).rejects.toThrow('enough')
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
