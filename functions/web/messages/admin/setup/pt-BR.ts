import type { SetupMessages } from "./en.ts";

export const ptBR: SetupMessages = {
  title: "Configurar esta instalação",
  intro: "Crie a primeira organização e a conta de seu proprietário.",
  token: "Token de configuração",
  tokenHint: "npm start mostra o token. Em um servidor é o valor de SETUP_TOKEN.",
  tokenWrong: "Este não é o token desta instalação.",
  owner: "Sua conta",
  signedInAs: (name: string) => `Você entrou como ${name} e se torna o proprietário.`,
  organization: "Organização",
  name: "Nome da organização",
  slug: "Nome curto nos endereços",
  slugHint: "Letras minúsculas, dígitos e hifens, como acme.",
  visibility: "Quem vê o quadro",
  visibilities: { public: "Todos", private: "Só a equipe" },
  submit: "Criar a organização",
  welcome: "Seu quadro está pronto",
  welcomeText: "O que as equipes fazem em seguida:",
  steps: {
    board: "Ver seu quadro",
    general: "Escolher nome, fuso horário e aprovação",
    apiKeys: "Criar uma chave de API para seu backend",
    people: "Convidar sua equipe",
    surveys: "Perguntar com uma pesquisa",
    import: "Trazer feedback de outro lugar",
  },
};
