import { describe, test } from 'vitest'
import { performerContract } from './performer-contract.ts'
import { scriptedPerformer } from './scripted-performer.ts'

performerContract('the scripted performer', () => ({ createPerformer: scriptedPerformer, dispose: () => {} }), {
  describe,
  test,
})
