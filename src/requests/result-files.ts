import type { FilePart, ToolResultPart } from '../kernel/model.ts'

/** A result without the files that a model does not take; its text says which are missing. */
export function withoutResultFiles(
  part: ToolResultPart,
  model: string,
  isUnsupported: (file: FilePart) => boolean = () => true,
): ToolResultPart {
  const { files = [], ...rest } = part
  const missing = files.filter(isUnsupported)
  if (missing.length === 0) return part
  const kept = files.filter((file) => !missing.includes(file))
  const names = missing.map(({ name, media_type }) => name ?? media_type).join(', ')
  const text = `${part.text}\n[not shown: ${names}; the model ${model} does not take such files]`
  return { ...rest, text, ...(kept.length > 0 ? { files: kept } : undefined) }
}
