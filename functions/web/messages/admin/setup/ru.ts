import type { SetupMessages } from "./en.ts";

export const ru: SetupMessages = {
  title: "Настройка установки",
  intro: "Создайте первую организацию и учётную запись её владельца.",
  token: "Токен настройки",
  tokenHint: "Его выводит npm start. На сервере это значение SETUP_TOKEN.",
  tokenWrong: "Это не токен этой установки.",
  owner: "Ваша учётная запись",
  signedInAs: (name: string) => `Вы вошли как ${name} и станете владельцем.`,
  organization: "Организация",
  name: "Название организации",
  slug: "Короткое имя в адресах",
  slugHint: "Строчные латинские буквы, цифры и дефисы, например acme.",
  visibility: "Кто видит доску",
  visibilities: { public: "Все", private: "Только команда" },
  submit: "Создать организацию",
  welcome: "Ваша доска готова",
  welcomeText: "Что команды делают дальше:",
  steps: {
    board: "Посмотреть свою доску",
    general: "Выбрать название, часовой пояс и одобрение",
    apiKeys: "Создать ключ API для вашего бэкенда",
    people: "Пригласить команду",
    surveys: "Задать вопросы в опросе",
    import: "Перенести отзывы из другого места",
  },
};
