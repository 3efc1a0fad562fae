import type { Model } from '../../src/kernel/model.ts'
import { loadProviderModel } from '../../src/models/providers.ts'
import type { ModelBehavior } from '../../src/testing/model-contract.ts'
import type { Fixture, MockProvider } from './mock-provider.ts'
import { MOCK_API_KEY } from './mock-provider.ts'

/** A provider's protocol, and what reaches it. */
export interface Protocol {
  model: string
  variables: { key: string; base: string }
  /** What the double calls a refusal in this protocol. */
  refusal: string
}

export const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  Anthropic: {
    model: 'anthropic/claude-haiku-4-5',
    variables: { key: 'ANTHROPIC_API_KEY', base: 'ANTHROPIC_BASE_URL' },
    refusal: 'refusal',
  },
  'OpenAI chat': {
    model: 'openai-chat/gpt-4o',
    variables: { key: 'OPENAI_API_KEY', base: 'OPENAI_BASE_URL' },
    refusal: 'content_filter',
  },
  'OpenAI responses': {
    model: 'openai/gpt-4o',
    variables: { key: 'OPENAI_API_KEY', base: 'OPENAI_BASE_URL' },
    refusal: 'content_filter',
  },
  Gemini: {
    model: 'google/gemini-2.5-flash',
    variables: { key: 'GEMINI_API_KEY', base: 'GEMINI_BASE_URL' },
    refusal: 'content_filter',
  },
  'OpenAI-compatible': {
    model: 'compatible/some-model',
    variables: { key: 'TROUPE_COMPATIBLE_API_KEY', base: 'TROUPE_COMPATIBLE_BASE_URL' },
    refusal: 'content_filter',
  },
}

export function modelAt(protocol: Protocol, url: string, key = MOCK_API_KEY): Promise<Model> {
  const { variables } = protocol
  return loadProviderModel(protocol.model, { env: { [variables.key]: key, [variables.base]: url } })
}

/** Usage in every protocol's words: the double takes those it knows. */
export function usageFixture({ input, output }: { input: number; output: number }) {
  return {
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      input_tokens: input,
      output_tokens: output,
      promptTokenCount: input,
      candidatesTokenCount: output,
    },
  }
}

/** A situation of the model contract as the double plays it. */
export function fixtureFor(says: string, situation: ModelBehavior, protocol: Protocol): Fixture {
  const match = { userMessage: says }
  switch (situation.kind) {
    case 'text': {
      const { text, stop, usage = { input: 1, output: 1 } } = situation
      const finishReason = stop === 'refusal' ? protocol.refusal : stop
      return { match, response: { content: text, ...usageFixture(usage), ...(stop && { finishReason }) } }
    }
    case 'tool-calls':
      return { match, response: { toolCalls: situation.calls } }
    case 'error':
      return { match, response: { error: { message: situation.message }, status: situation.status } }
    case 'slow':
      return { match, response: { content: 'at last' }, streamingProfile: { ttft: 60_000 } }
    case 'cut':
      // With a pause after each piece: the double destroys its socket, and with it what is still in there.
      return { match, response: { content: situation.text }, truncateAfterChunks: 6, latency: 10 }
  }
}

/** The stage of the model contract: a real provider package against the double. */
export function providerHarness(double: () => MockProvider, protocol: Protocol) {
  return {
    async createModel(situations: Record<string, ModelBehavior>): Promise<Model> {
      await double().setFixtures(
        Object.entries(situations).map(([says, situation]) => fixtureFor(says, situation, protocol)),
      )
      return modelAt(protocol, double().url)
    },
    dispose: () => {},
  }
}
