import { expect, test } from 'vitest'
import { createCollaborationTroupe } from '../../../test/support/collaboration.ts'
import { DEFAULT_COLLABORATE_CONFIG, parseCollaborateConfig } from './collaborate-config.ts'

test('CO87 settings of a troupe are checked before anything is opened, and the error names what there is', async () => {
  const wrong: [object, RegExp][] = [
    [{ agent_timeout: 'soon' }, /agent_timeout: a duration such as 300s/],
    [{ default_mode: 'nope' }, /default_mode/],
    [{ consensus_threshold: 7 }, /consensus_threshold/],
    [{ coordinator: { temperature: 99 } }, /coordinator\.temperature/],
    [{ max_parallel: 0 }, /max_parallel/],
    [{ typo: 1 }, /typo/],
  ]
  for (const [settings, message] of wrong) {
    const made = createCollaborationTroupe({}, { collaborate: settings as never })
    await expect(made).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
      alternatives: expect.arrayContaining(['default_mode', 'agent_timeout']),
    })
  }
})

test('CO87 what is not set is ours, also within the coordinator', () => {
  expect(parseCollaborateConfig({})).toEqual(DEFAULT_COLLABORATE_CONFIG)
  const own = parseCollaborateConfig({ max_agents: 9, coordinator: { model: 'reasoning' } as never })
  expect(own).toEqual({
    ...DEFAULT_COLLABORATE_CONFIG,
    max_agents: 9,
    coordinator: { model: 'reasoning', temperature: 0.3 },
  })
})
