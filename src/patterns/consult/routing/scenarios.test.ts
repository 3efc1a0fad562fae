import { describe, expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel } from '../../../../test/support/test-troupe.ts'
import { createRoster } from '../../../engine/create-roster.ts'
import { readBuiltInAgents } from '../../../formats/built-in-agents.ts'
import { parseConsultConfig } from '../consult-config.ts'
import { checkScenarioAgents, findScenario, resolveScenarios } from './scenarios.ts'

describe('scenarios', () => {
  test('CS80 the six scenarios have descriptions and shipped specialists', async () => {
    const roster = createRoster(await readBuiltInAgents())
    const specialists = Object.fromEntries(resolveScenarios().map(({ name, primary }) => [name, primary]))
    expect(specialists).toEqual({
      model_data: 'backend_developer',
      security_review: 'security_expert',
      api_clarification: 'backend_developer',
      bug_debugging: 'backend_developer',
      requirements: 'project_manager',
      infrastructure: 'devops_engineer',
    })
    for (const { primary, fallback, description } of resolveScenarios()) {
      expect(roster.has(primary) && roster.has(fallback ?? '')).toBe(true)
      expect(fallback).not.toBe(primary)
      expect(description.length).toBeGreaterThan(40)
    }
  })

  test('CS81 the configuration changes single keys of a scenario and adds others', () => {
    const law = { description: 'Licences and contracts', primary: 'lawyer' }
    const { scenarios } = parseConsultConfig({ scenarios: { security_review: { primary: 'guard' }, law } })
    const builtIn = findScenario(resolveScenarios(), 'security_review')
    expect(findScenario(scenarios, 'security_review')).toEqual({
      ...builtIn,
      primary: 'guard',
      configured: ['primary'],
    })
    expect(findScenario(scenarios, 'law')).toMatchObject({ ...law, fallback: undefined })
    expect(scenarios).toHaveLength(7)
    expect(findScenario(scenarios, 'Security Review')?.name).toBe('security_review')
    expect(findScenario(scenarios, 'how do we name this')).toBeUndefined()
  })

  test('CS82 an unknown scenario without a definition is rejected with the nearest names', () => {
    const parse = () => parseConsultConfig({ scenarios: { securty_review: { fallback: 'guard' } } })
    expect(parse).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringMatching(/^`consult\.scenarios`: no scenario 'securty_review'; known: security_review, /),
        hint: expect.stringContaining('lacks `description`, `primary`'),
      }),
    )
    expect(() => parseConsultConfig({ scenarios: { law: { primry: 'x' } } })).toThrow(/primry/)
    expect(() => parseConsultConfig({ scenarios: { 'Law!': {} } })).toThrow(/option `consult` is invalid/)
    expect(() => parseConsultConfig({ scenarios: { model_data: { primary: '' } } })).toThrow(/primary/)
  })

  test('CS82 a configured specialist that the roster lacks is rejected with the nearest agents; a built-in one may be missing', () => {
    const roster = createRoster([agent('guard'), agent('coder')])
    const scenarios = resolveScenarios({ security_review: { fallback: 'gaurd' } })
    expect(() => checkScenarioAgents(scenarios, roster)).toThrow(
      expect.objectContaining({
        code: 'unknown_agent',
        message: "`consult.scenarios.security_review.fallback`: no agent 'gaurd'; known: guard, coder",
        hint: "did you mean 'guard'?",
      }),
    )
    checkScenarioAgents(resolveScenarios({ security_review: { fallback: 'guard' } }), roster)
    checkScenarioAgents(resolveScenarios(), roster)
  })

  test('CS82 a run is rejected before anything is paid when a configured specialist is missing', async () => {
    const model = functionModel(() => ({ text: 'x' }))
    const scenarios = { requirements: { primary: 'project_manger' } }
    const { troupe } = await createTestTroupe({ model, consult: { scenarios } })
    await expect(troupe.run('consult', { question: 'What is due first?' })).rejects.toMatchObject({
      code: 'unknown_agent',
      message: expect.stringContaining(
        "`consult.scenarios.requirements.primary`: no agent 'project_manger'; known: project_manager",
      ),
    })
    expect(model.requests).toEqual([])
  })
})
