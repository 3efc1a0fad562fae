import { expect, test } from 'vitest'
import { createCollaborationTroupe } from '../../../../test/support/collaboration.ts'
import { DEFAULT_COLLABORATE_CONFIG, parseCollaborateConfig } from './collaborate-config.ts'

test('CO87 invalid settings are rejected when the troupe is created, with the known settings', async () => {
  const wrong: [object, RegExp][] = [
    [{ agent_timeout: 'soon' }, /agent_timeout: must be a duration such as 300s/],
    [{ default_mode: 'nope' }, /default_mode/],
    [{ consensus_threshold: 7 }, /consensus_threshold/],
    [{ coordinator: { temperature: 99 } }, /coordinator\.temperature/],
    [{ max_parallel: 0 }, /max_parallel/],
    [{ typo: 1 }, /typo/],
  ]
  for (const [settings, message] of wrong) {
    const creation = createCollaborationTroupe({}, { collaborate: settings as never })
    await expect(creation).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
      alternatives: expect.arrayContaining(['default_mode', 'agent_timeout']),
    })
  }
})

test('CO87 missing settings have their default, including in coordinator', () => {
  expect(parseCollaborateConfig({})).toEqual(DEFAULT_COLLABORATE_CONFIG)
  const config = parseCollaborateConfig({ max_agents: 9, coordinator: { model: 'reasoning' } as never })
  expect(config).toEqual({
    ...DEFAULT_COLLABORATE_CONFIG,
    max_agents: 9,
    coordinator: { model: 'reasoning', temperature: 0.3 },
  })
})
