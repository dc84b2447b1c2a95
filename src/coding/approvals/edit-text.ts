// An edit of a file as a person sees it before allowing it: a difference, line by line. Part of the text of a question.
import { z } from 'zod'
import { lineDiff } from '../../domain/line-diff.ts'

const edit = z.strictObject({
  old_string: z.string(),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
})
const file_path = z.string()
const shapes = {
  Edit: edit.extend({ file_path }),
  MultiEdit: z.strictObject({ file_path, edits: z.array(edit) }),
  Write: z.strictObject({ file_path, content: z.string() }),
}

/** Undefined if the tool is not an edit, or if its input has a field that a difference would hide. */
export function editText(toolName: string, input: Record<string, unknown>): string | undefined {
  if (toolName === 'Write') {
    const { data } = shapes.Write.safeParse(input)
    return data && textOf(`Write ${data.file_path} (the whole file)`, '', data.content)
  }
  if (toolName === 'MultiEdit') {
    const { data } = shapes.MultiEdit.safeParse(input)
    return data && joined(data.file_path, data.edits)
  }
  const { data } = toolName === 'Edit' ? shapes.Edit.safeParse(input) : {}
  return data && joined(data.file_path, [data])
}

function joined(path: string, edits: Array<z.infer<typeof edit>>): string {
  return edits
    .map(({ old_string: before, new_string: after, replace_all: all }) =>
      textOf(`Edit ${path}${all ? ' (every occurrence)' : ''}`, before, after),
    )
    .join('\n')
}

function textOf(heading: string, before: string, after: string): string {
  return [heading, ...lineDiff(before, after).map(({ sign, line }) => `${sign} ${line}`)].join('\n')
}
