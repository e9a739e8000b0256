export const en = {
  title: "Allowed origins",
  text: "Web pages of these origins may call the API in a browser and show the embedded pages in a frame.",
  origins: "Origins",
  hint: "One on each line, with scheme and port, such as https://app.example.org. At most 50.",
  lost: "Pages of an origin that you remove can no longer call the API with a session, nor show the board in a frame.",
  line: (n: number, problem: string) => `Line ${n}: ${problem}`,
  save: "Save",
  done: {
    saved: "The origins are saved.",
  },
};

export type OriginsMessages = typeof en;
