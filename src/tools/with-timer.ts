/** Runs `work`, and calls `onTime` once if it takes longer. */
export async function withTimer<T>(
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
  { ms, onTime }: { ms: number; onTime: () => void },
  work: () => Promise<T>,
): Promise<T> {
  const done = new AbortController()
  const timer = sleep(ms, done.signal).then(onTime, () => {})
  try {
    return await work()
  } finally {
    done.abort('done')
    await timer
  }
}
